#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is said of the heap of a program without torch, and what to do next.
. tests/e2e/launcher.inc
cat > program.c <<'EOF'
#include <stdlib.h>

int main(void)
{
	for (int i = 0; i < 100; i++)
		*(char *volatile *)malloc(sizeof(char *)) = 0;
	return 0;
}
EOF
cc -O0 -g -o program program.c || fail "no compiler"

run --malloc all --marker "torch:step" --logdir none -- ./program
want 0 $status "a marker of torch's"
has "no program that ran under proflaunch (1: program) loaded PyTorch." err "a marker of torch's"
has "the marker torch:step waits for PyTorch; the heap of any program: --marker none" err "what to do about it"

run --malloc all --logdir auto -- ./program
want 0 $status "no marker"
has "on the heap: 100 allocations" err "no marker"

mkdir log
echo "of an older run" > log/a_1.1.pt.trace.json
run --malloc all --marker none --logdir log -- ./program
want 0 $status "the marker none"
rm log/a_1.1.pt.trace.json
has "on the heap: 100 allocations" err "the closing lines"
has "proflaunch memory $(echo "$work"/log/*.pt.trace.json)" err "the next command"
grep -q tensorboard err && fail "TensorBoard shows no heap"
run memory log/*.pt.trace.json
want 0 $status "the next command"
has "main (program.c:6)" out "the call site"
grep -q "walked" out && fail "nothing was wrong with the stacks"
has "live at the end, by call site" out "what is left"
grep -q "outside operators" out && fail "a program without torch has no operators"
grep -q '"site":"main (program.c:6)' log/*.pt.trace.json || fail "annotations say no site"

# Bytes between two samples are drawn: of a GiB on average, these few are never one.
run --malloc sample --malloc-sample-kb 1048576 --marker none --logdir none -- ./program
has "what ran under proflaunch (1: program) allocated too little for a sample: try --malloc all" err "a sample of nothing"

run --malloc count --marker none --logdir count -- ./program
run memory count/*.pt.trace.json
want 0 $status "count"
has "malloc = count does not say" out "who it was"

# DWARF names templates of local types bare: they are the C++ library's all the same.
command -v c++ > /dev/null || exit 0
cat > local.cc <<'EOF'
#include <vector>

int main()
{
	struct here {
		char bytes[64];
	};
	std::vector<here> *volatile kept = new std::vector<here>;
	for (int i = 0; i < 5; i++)
		kept->emplace_back();
	return 0;
}
EOF
c++ -std=c++17 -O2 -g -o local local.cc || fail "no C++ compiler"
run --malloc all --marker none --logdir local.log -- ./local
run memory local.log/*.pt.trace.json
has "main (local.cc:10)" out "who fills the vector"
grep -q '^ *[0-9.]* [KB].*allocs  .*_M_realloc\|emplace_back' out && { cat out; fail "the vector asked for itself"; }
exit 0
