// An event-driven simulator of netlists of cells, with one inertial delay for rise and one for fall of each output.
//
// In one time step all changes that are due are applied first; then each cell with a changed input is evaluated once.
// If the value of an output equals the pending one, nothing happens. If it equals the present one, the pending change is
// cancelled. Otherwise the pending change is replaced by one after the delay of the new value.
//
// All tables of a cell are indexed by its input pins, pin 0 in the least significant bit, and the state above them.
#include <cstdint>
#include <queue>
#include <vector>

namespace {

enum { INPUTS, OUTPUTS, HAS_STATE, TRUTH, NEXT, CLOCK, ARCS, PASSIVE, TYPE_WORDS };
enum { TYPE, FIRST_INPUT, FIRST_OUTPUT, FIRST_GROUP, INSTANCE_WORDS };
enum { NETS, INSTANCES, PORTS_OUT, PORTS_IN, OPERATIONS, WARM_UP, CLOCK_NET, PERIOD, HALF, WITHOUT_DELAYS, TRACED };

struct Circuit {
  const int64_t *sizes;
  const int32_t *types, *instances;
  const uint8_t *bits;       // truth tables, of all types
  const int16_t *groups;     // groups of internal energy by pin and index, of all types; -1 is none
  const int32_t *input_nets, *output_nets;
  const int64_t *delays;     // fall and rise of each output
  const int32_t *reader_start, *reader_instance, *reader_pin;
  const int32_t *stimulus_nets, *observed_nets;
  const uint8_t *stimuli;    // operations x stimulus nets
  uint8_t *observed;         // operations x observed nets, at the end of each period
  int64_t *transitions;      // falls and rises of each net, after the warm-up
  int64_t *counts;           // falls and rises of each group of internal energy, after the warm-up
  int64_t *settled;          // the latest change within a period after the warm-up
  int64_t *trace;            // times and nets of the first changes, as many as are traced
};

struct Event {
  int64_t time;
  int32_t output;
  uint32_t serial;
  bool operator<(const Event &other) const { return time > other.time; }
};

struct Simulation {
  const Circuit &c;
  std::vector<uint8_t> level;             // of each net
  std::vector<uint32_t> index;            // of each instance: its inputs, and its state
  std::vector<uint32_t> changed;          // input pins of an instance that changed in this step
  std::vector<int32_t> cause;             // the first input pin that changed in the instance's last step
  std::vector<int32_t> touched, owner;
  std::vector<int32_t> place;             // of each output among those of its instance
  std::vector<uint8_t> is_pending, pending;
  std::vector<uint32_t> serial;
  std::vector<int32_t> changes;           // nets that change in this step
  std::priority_queue<Event> events;
  bool counting = false;
  int64_t now = 0, traced = 0;

  explicit Simulation(const Circuit &circuit)
      : c(circuit), level(c.sizes[NETS]), index(c.sizes[INSTANCES]), changed(c.sizes[INSTANCES]),
        cause(c.sizes[INSTANCES]) {
    level[1] = 1;
    for (int32_t i = 0; i < c.sizes[INSTANCES]; i++) {
      const int32_t *type = type_of(i);
      for (int pin = 0; pin < type[INPUTS]; pin++) index[i] |= uint32_t(level[input(i, pin)]) << pin;
      for (int out = 0; out < type[OUTPUTS]; out++) owner.push_back(i), place.push_back(out);
    }
    is_pending.resize(owner.size());
    pending.resize(owner.size());
    serial.resize(owner.size());
  }

  const int32_t *type_of(int32_t i) const { return c.types + TYPE_WORDS * c.instances[INSTANCE_WORDS * i + TYPE]; }
  int32_t first(int32_t i, int what) const { return c.instances[INSTANCE_WORDS * i + what]; }
  int32_t input(int32_t i, int pin) const { return c.input_nets[first(i, FIRST_INPUT) + pin]; }
  uint32_t rows(const int32_t *type) const { return 1u << (type[INPUTS] + type[HAS_STATE]); }
  uint8_t truth(int32_t i, int out, uint32_t at) const {
    const int32_t *type = type_of(i);
    return c.bits[type[TRUTH] + uint32_t(out) * rows(type) + at];
  }
  uint8_t bit(int32_t table, uint32_t at) const { return c.bits[table + at]; }

  void charge(int32_t i, int32_t table, uint32_t row, uint8_t to) {
    const int16_t group = c.groups[table + row];
    if (group >= 0) c.counts[2 * (first(i, FIRST_GROUP) + group) + to]++;
  }

  // A net takes its other value; `output` drives it, or is -1.
  void flip(int32_t net, int32_t output) {
    level[net] ^= 1;
    changes.push_back(net);
    if (traced < c.sizes[TRACED]) c.trace[2 * traced] = now, c.trace[2 * traced + 1] = net, traced++;
    if (!counting) return;
    c.transitions[2 * net + level[net]]++;
    if (output < 0) return;
    const int32_t i = owner[output], *type = type_of(i);
    charge(i, type[ARCS], (uint32_t(place[output]) * type[INPUTS] + cause[i]) * rows(type) + index[i], level[net]);
  }

  // The changed nets reach the instances that read them.
  void reach() {
    for (const int32_t net : changes)
      for (int32_t reader = c.reader_start[net]; reader < c.reader_start[net + 1]; reader++) {
        const int32_t i = c.reader_instance[reader], pin = c.reader_pin[reader];
        if (!changed[i]) touched.push_back(i);
        changed[i] |= 1u << pin;
      }
    changes.clear();
  }

  // Take over the changed inputs of an instance; a flip-flop samples what its other inputs were before this step.
  void take(int32_t i) {
    const int32_t *type = type_of(i);
    const uint32_t before = index[i], state = 1u << type[INPUTS];
    uint32_t after = before ^ changed[i];
    bool edge = false;
    if (type[HAS_STATE]) {
      edge = !bit(type[CLOCK], before) && bit(type[CLOCK], after);
      if (edge) after = (after & ~state) | (bit(type[NEXT], before) ? state : 0);
    }
    // energies at the inputs depend on the state before the edge
    const uint32_t seen = type[HAS_STATE] ? (after & ~state) | (before & state) : after;
    int lowest = -1;
    for (int pin = 0; pin < type[INPUTS]; pin++) {
      if (!(changed[i] >> pin & 1)) continue;
      if (lowest < 0) lowest = pin;
      if (counting) charge(i, type[PASSIVE], uint32_t(pin) * rows(type) + seen, after >> pin & 1);
    }
    // a flip-flop's outputs change with its clock alone
    if (!type[HAS_STATE]) cause[i] = lowest;
    else if (edge) for (int pin = 0; pin < type[INPUTS]; pin++)
      if (bit(type[CLOCK], after) != bit(type[CLOCK], after ^ (1u << pin))) cause[i] = pin;
    index[i] = after;
    changed[i] = 0;
  }

  void schedule(int32_t i, int64_t time) {
    const int32_t *type = type_of(i), start = first(i, FIRST_OUTPUT);
    for (int out = 0; out < type[OUTPUTS]; out++) {
      const int32_t output = start + out;
      const uint8_t value = truth(i, out, index[i]), present = level[c.output_nets[output]];
      if (is_pending[output] && pending[output] == value) continue;
      if (is_pending[output]) is_pending[output] = 0, serial[output]++;
      if (value == present) continue;
      is_pending[output] = 1;
      pending[output] = value;
      events.push({time + c.delays[2 * output + value], output, serial[output]});
    }
  }

  // The next change, or -1; cancelled ones are dropped.
  int64_t next() {
    while (!events.empty() && events.top().serial != serial[events.top().output]) events.pop();
    return events.empty() ? -1 : events.top().time;
  }

  // One time step: `changes` has the inputs that change in it.
  void step(int64_t time) {
    now = time;
    for (int64_t due = next(); due == time; due = next()) {
      const int32_t output = events.top().output;
      events.pop();
      is_pending[output] = 0;
      serial[output]++;
      flip(c.output_nets[output], output);
    }
    reach();
    for (const int32_t i : touched) {
      take(i);
      schedule(i, time);
    }
    touched.clear();
  }

  // Changes before `end`; returns the time of the last one, or `last` if there is none.
  int64_t run(int64_t end, int64_t last) {
    for (int64_t due = next(); due >= 0 && due < end; due = next()) {
      step(due);
      last = due;
    }
    return last;
  }

  // Without delays: every instance once, in topological order; flip-flops first take the state of the last period.
  void settle() {
    reach();
    std::vector<int32_t> first_touched;
    first_touched.swap(touched);
    for (const int32_t i : first_touched)  // the edge reaches flip-flops before any of their other inputs changes
      if (type_of(i)[HAS_STATE]) take(i);
    for (int32_t i = 0; i < c.sizes[INSTANCES]; i++) {
      if (!type_of(i)[HAS_STATE] && changed[i]) take(i);
      for (int out = 0; out < type_of(i)[OUTPUTS]; out++) {
        const int32_t output = first(i, FIRST_OUTPUT) + out, net = c.output_nets[output];
        if (truth(i, out, index[i]) != level[net]) flip(net, output), reach();
      }
    }
    touched.clear();
    for (int32_t i = 0; i < c.sizes[INSTANCES]; i++)  // inputs of flip-flops that the logic has changed
      if (changed[i]) take(i);
  }
};

}  // namespace

// Returns the number of the first operation after which the netlist has not settled within the period, or -1.
extern "C" int64_t simulate(
    const int64_t *sizes, const int32_t *types, const int32_t *instances, const uint8_t *bits, const int16_t *groups,
    const int32_t *input_nets, const int32_t *output_nets, const int64_t *delays, const int32_t *reader_start,
    const int32_t *reader_instance, const int32_t *reader_pin, const int32_t *stimulus_nets,
    const int32_t *observed_nets, const uint8_t *stimuli, uint8_t *observed, int64_t *transitions, int64_t *counts,
    int64_t *settled, int64_t *trace) {
  const Circuit circuit = {sizes, types, instances, bits, groups, input_nets, output_nets, delays, reader_start,
                           reader_instance, reader_pin, stimulus_nets, observed_nets, stimuli, observed, transitions,
                           counts, settled, trace};
  Simulation sim(circuit);
  const int32_t clock = int32_t(sizes[CLOCK_NET]);
  sim.settle();
  sim.traced = 0;
  for (int32_t i = 0; i < sizes[INSTANCES]; i++) sim.cause[i] = 0;
  for (int64_t op = 0; op < sizes[OPERATIONS]; op++) {
    sim.counting = op >= sizes[WARM_UP];
    const int64_t start = sim.now = op * sizes[PERIOD];
    if (clock >= 0) sim.flip(clock, -1);
    const uint8_t *values = stimuli + op * sizes[PORTS_IN];
    for (int64_t bit = 0; bit < sizes[PORTS_IN]; bit++)
      if (sim.level[stimulus_nets[bit]] != values[bit]) sim.flip(stimulus_nets[bit], -1);
    if (sizes[WITHOUT_DELAYS]) {
      sim.settle();
      if (clock >= 0) {
        sim.now = start + sizes[HALF];
        sim.flip(clock, -1);
        sim.settle();
      }
    } else {
      int64_t last = start;
      sim.step(start);
      if (clock >= 0) {
        last = sim.run(start + sizes[HALF], last);
        sim.now = start + sizes[HALF];
        sim.flip(clock, -1);
        sim.step(start + sizes[HALF]);
      }
      last = sim.run(start + sizes[PERIOD], last);
      if (sim.next() >= 0) return op;
      if (sim.counting && last - start > *settled) *settled = last - start;
    }
    for (int64_t bit = 0; bit < sizes[PORTS_OUT]; bit++)
      observed[op * sizes[PORTS_OUT] + bit] = sim.level[observed_nets[bit]];
  }
  return -1;
}
