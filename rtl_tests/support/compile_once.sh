# Compiles a file of Verilator's library once in a session of tests: sh compile_once.sh COMPILER ... -c -o FILE.o FILE.cpp
# Verilator's makefile puts the words of $OBJCACHE before each command of the compiler.
for source; do :; done
case $source in
"$VERILATOR_ROOT"/include/*.cpp)
  object=$(basename "$source" .cpp).o
  kept=$RTL_TESTS_SHARED/$(printf '%s\n' "$@" | sha256sum | cut -c 1-64).o
  if [ -e "$kept" ]; then exec cp "$kept" "$object"; fi
  "$@" && cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
  ;;
*) exec "$@" ;;
esac
