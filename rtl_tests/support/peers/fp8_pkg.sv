package fp8_pkg;
  localparam int unsigned LSB = 24;  // the last bit of every sum is 2^-24

  typedef struct packed {
    logic sign;
    logic [3:0] exp;
    logic [2:0] man;
  } fp8_t;

  typedef struct packed {
    logic sign;
    logic [4:0] exp;
    logic [9:0] man;
  } fp16_t;

  localparam fp16_t NAN = '{sign: 1'b0, exp: '1, man: 10'h200};

  function automatic logic is_nan(fp8_t x);
    return &x.exp && &x.man;
  endfunction

  function automatic logic is_zero(fp8_t x);
    return {x.exp, x.man} == '0;
  endfunction

  function automatic logic [42:0] product(fp8_t a, fp8_t b);
    logic [7:0] m;
    logic [5:0] e;
    m = {|a.exp, a.man} * {|b.exp, b.man};
    e = 6'(a.exp == 0 ? 4'd1 : a.exp) + 6'(b.exp == 0 ? 4'd1 : b.exp);
    return 43'(m) << (e + 6'(LSB - 20));
  endfunction

  function automatic logic [5:0] leading_one(logic [43:0] x);
    leading_one = '0;
    for (int i = 0; i < 44; i++) if (x[i]) leading_one = 6'(i);
  endfunction
endpackage
