#!/usr/bin/env bash
# Runs the gpu tier and the benchmarks on a machine with a GPU, python3 (3.12, with torch for the Python models) and no
# network, from the parts that `pnpm gpu:bundle` makes:
#
#   run.sh unpack [DIR]   unpack the parts in DIR (default: this script's folder) to /tmp/zerohop; say which are missing
#   run.sh tests  [DIR]   unpack, then the gpu tier with REQUIRE_GPU=1
#   run.sh bench  [DIR]   unpack, then the requests in a row and the transports benchmark
#   run.sh cuda   [DIR]   unpack, then cuda-native's figures beside C++, create/close cycles, compute-sanitizer if here
#   run.sh preproc [DIR]  unpack, then the kernels of gpu-preproc: their tests, damaged JPEGs through nvJPEG, and their
#                         benchmark beside torch and OpenCV
#   run.sh checks [DIR]   unpack, then every kernel of gpu-preproc under compute-sanitizer's memcheck, racecheck, initcheck
#   run.sh client [DIR]   unpack, then triton-client beside NVIDIA's clients
#   run.sh all    [DIR]   unpack, tests, cuda, bench: within TIME_LIMIT seconds (default 480)
#
# Parts may come one call at a time. Results go to $OUT (default /tmp/zerohop/out), a few flat files. REQUIRE_GPU=0 runs
# what needs no GPU, to rehearse. Ends with the first failing step's status, after the other steps.
set -u

ZEROHOP=${ZEROHOP_UNPACKED:-/tmp/zerohop}
OUT=${OUT:-$ZEROHOP/out}
TIME_LIMIT=${TIME_LIMIT:-480}
REQUIRE_GPU=${REQUIRE_GPU:-1}
PARTS="triton node app data"
STATUS=0

note() { printf '== %s (%s s)\n' "$*" "$SECONDS"; }

# Seconds left, less what the steps after this one need, at least $1.
left() {
  local seconds=$((TIME_LIMIT - SECONDS - ${2:-0}))
  [ "$seconds" -gt "$1" ] && echo "$seconds" || echo "$1"
}

# A function can't be given to timeout; those here end by themselves.
limited() {
  local seconds=$1
  shift
  if [ "$(type -t "$1")" = function ]; then "$@"; else timeout --signal=TERM --kill-after=10 "$seconds" "$@"; fi
}

# step NAME SECONDS COMMAND…: output to the terminal and to $OUT/NAME.log.
step() {
  local name=$1 seconds=$2 code
  shift 2
  note "$name, at most $seconds s"
  limited "$seconds" "$@" 2>&1 | tee "$OUT/$name.log"
  code=${PIPESTATUS[0]}
  note "$name ended with $code"
  [ "$STATUS" -ne 0 ] || STATUS=$code
}

unpack() {
  local directory=$1 part archive missing=""
  mkdir -p "$ZEROHOP/parts"
  for part in $PARTS; do
    archive=$directory/$part.tar.xz
    [ -f "$archive" ] || continue
    # The same archive again costs nothing; a new one replaces what was there.
    if cmp -s "$archive.sha256" "$ZEROHOP/parts/$part"; then continue; fi
    note "unpacking $part"
    rm -rf "${ZEROHOP:?}/$part" "$ZEROHOP/parts/$part"
    extract "$archive" || { echo "run.sh: $archive could not be unpacked" >&2; exit 1; }
  done
  for part in $PARTS; do [ -f "$ZEROHOP/parts/$part" ] || missing="$missing $part"; done
  if [ -n "$missing" ]; then note "still missing:$missing"; return 1; fi
  note "all parts are there"
}

extract() {
  if command -v xz >/dev/null; then
    tar -C "$ZEROHOP" -xJf "$1"
  else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2], filter="fully_trusted")' "$1" "$ZEROHOP"
  fi
}

environment() {
  mkdir -p "$OUT"
  export PATH=$ZEROHOP/node/bin:$PATH
  export ZEROHOP_TRITON_HOME=$ZEROHOP/triton
  export ZEROHOP_PEERS_PYTHON=$ZEROHOP/app/peers/bin/python
  export ZEROHOP_PERF_ANALYZER=$ZEROHOP/app/peers/bin/perf_analyzer
  export REQUIRE_GPU CI=true
  # nvJPEG may be where nobody looks: in a folder of CUDA or in a wheel.
  if [ -z "${ZEROHOP_LIBNVJPEG:-}" ]; then
    local library
    library=$(find /usr /opt /home /root -name 'libnvjpeg.so.1[1-3]' 2>/dev/null | sort | tail -n 1)
    [ -z "$library" ] || export ZEROHOP_LIBNVJPEG=$library
  fi
  cd "$ZEROHOP/app" || exit 1
}

probe() {
  nvidia-smi || echo "no nvidia-smi"
  uname -a
  getconf GNU_LIBC_VERSION
  nproc
  free -g
  df -h /dev/shm /tmp
  node --version
  cat build.json
  python3 -c 'import sys, numpy; print(sys.version, "numpy", numpy.__version__)'
  python3 -c 'import torch; print("torch", torch.__version__, torch.cuda.is_available())'
  "$ZEROHOP_PERF_ANALYZER" --version
  "$ZEROHOP_PEERS_PYTHON" -c 'import tritonclient.grpc; print("tritonclient imports")'
}

# TESTS: only files whose path contains one of these words.
tests() {
  # shellcheck disable=SC2086 # words
  step gpu-tests "$1" node node_modules/vitest/vitest.mjs run --project gpu \
    --reporter=default --reporter=json --outputFile.json="$OUT/gpu-tests.json" ${TESTS:-}
}

bench() {
  local seconds=$1 thousand=reduce_4k counts=cuda=1000,system=200,bytes=50
  if [ "$REQUIRE_GPU" = 0 ]; then thousand=reduce_64 counts=system=1000,bytes=1000; fi
  step thousand "$((seconds / 2))" node bench/dist/thousand.js \
    --model "${THOUSAND_MODEL:-$thousand}" --counts "${THOUSAND_COUNTS:-$counts}" --out "$OUT/thousand.json"
  seconds=$(left 60)
  step transports "$seconds" node bench/dist/transports.js --rounds "${ROUNDS:-3}" --duration "${DURATION:-1500}" \
    --tables "${TABLES:-native-4k,native-small,python-4k=1,python-small=1}" --time-limit "$((seconds - 20))" --out "$OUT/transports.json"
}

client() {
  step client "$1" node bench/dist/client.js --rounds "${CLIENT_ROUNDS:-12}" --duration "${DURATION:-700}" \
    --time-limit "$(($1 - 30))" --out "$OUT/client.json"
}

# At most 250 s. What a limit says is in the files; a figure that misses one ends the step with 1.
cuda() {
  step cuda 75 node bench/dist/cuda.js --rounds "${CUDA_ROUNDS:-5}" --work "${CUDA_WORK:-1}" \
    --time-limit 50 --out "$OUT/cuda.json"
  # shellcheck disable=SC2086 # words
  step cycles 150 node bench/dist/cycles.js ${CYCLES_OPTIONS:-} --out "$OUT/cycles.json"
  step sanitizer 20 sanitizer
}

# The kernels of gpu-preproc; a goal that was not met ends the step with 1. Damaged JPEGs through nvJPEG.
preproc() {
  TESTS="packages/gpu-preproc/test/gpu packages/gpu-postproc/test/gpu" tests "$((${1} / 2))"
  step jpeg-fuzz 90 node bench/dist/jpeg-fuzz.js --out "$OUT/jpeg-fuzz.json"
  step preproc "$((${1} / 2))" node bench/dist/preproc.js --out "$OUT/preproc.json"
}

# A program of Node under one of NVIDIA's checkers, where the machine has them: checked SECONDS TOOL ARGUMENT...
checked() {
  local seconds=$1 tool=$2 checker api=()
  shift 2
  checker=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
  if [ -z "$checker" ]; then
    echo "compute-sanitizer: not run, this machine has none"
    return 0
  fi
  "$checker" --version | head -n 1
  # The driver has no count of a kernel's parameters: asking for one too many, and being refused, is how we find it.
  [ "$tool" = memcheck ] && api=(--report-api-errors no)
  timeout "$seconds" "$checker" --tool "$tool" "${api[@]}" --target-processes all --error-exitcode 9 node --no-warnings "$@"
}

# Every kernel of gpu-preproc, each checker at most $1 seconds.
kernel_checks() {
  local tool
  for tool in memcheck racecheck initcheck; do checked "$1" "$tool" bench/dist/kernel-tour.js || return; done
}

# The kernels, copies and graphs of one small program.
sanitizer() {
  checked 18 memcheck --expose-gc bench/dist/cuda/loop-delay.js packages/cuda-native/test/fixtures/kernels.fatbin
}

command=${1:-all}
case $command in
  unpack | tests | cuda | preproc | checks | bench | client | all) ;;
  *) echo "usage: run.sh unpack|tests|cuda|preproc|checks|bench|client|all [DIR]" >&2; exit 2 ;;
esac
directory=$(cd "${2:-$(dirname "$0")}" && pwd) || exit 1
if ! unpack "$directory"; then
  # One part of several: nothing to run yet.
  [ "$command" = unpack ] && exit 0 || exit 1
fi
if [ "$command" != unpack ]; then
  environment
  step probe 60 probe
  case $command in
    tests) tests "$(left 60)" ;;
    cuda) cuda ;;
    preproc) preproc "$(left 60)" ;;
    checks) step kernel-checks "$(left 60)" kernel_checks "$(($(left 60) / 3))" ;;
    bench) bench "$(left 60)" ;;
    client) client "$(left 60)" ;;
    all)
      tests "$(left 60 330)"
      cuda
      bench "$(left 60)"
      ;;
  esac
fi
exit "$STATUS"
