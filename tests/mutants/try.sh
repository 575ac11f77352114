#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run: full
# The mutation harness on a tree of two files: who notices, what survives, what is refused,
# and that no fault stays in what was built.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/agent" "$work/tests/unit" "$work/tests/e2e" "$work/tests/mutants"
cd "$work" || exit 1

cat > agent/add.c << 'EOC'
int add(int a, int b);
int twice(int a);
int add(int a, int b)
{
	if (a < 0)
		return b - -a;
	return a + b;
}
int twice(int a)
{
	return 2 * a;
}
EOC
cat > agent/other.c << 'EOC'
int other(void);
int other(void)
{
	return 1;
}
EOC
cat > tests/unit/test_add.c << 'EOC'
int add(int a, int b);
int main(void)
{
	volatile int two = 2;
	while (add(two, 2) == 0)
		;
	return add(two, 2) != 4;
}
EOC
printf 'int main(void) { return 0; }\n' > tests/unit/test_broken.c
printf 'int other(void);\nint main(void) { return other() != 1; }\n' > tests/unit/test_other.c
printf '#!/bin/sh\nexec "$BUILD/proflaunch"\n' > tests/e2e/program.sh
chmod +x tests/e2e/program.sh
cat > Makefile << 'EOC'
BUILD ?= build
tests := $(patsubst tests/unit/%.c,$(BUILD)/%,$(wildcard tests/unit/*.c))
o := $(BUILD)/unit/agent/add.o $(BUILD)/unit/agent/other.o
mutants-base: all $(tests)
all: $(BUILD)/proflaunch
$(BUILD)/libunit.a: $o
	rm -f $@ && ar rcs $@ $o
$(BUILD)/test_%: $(BUILD)/unit/tests/unit/test_%.o $(BUILD)/libunit.a
	cc -o $@ $^
$(BUILD)/proflaunch: $(BUILD)/libunit.a
	printf 'int twice(int a); int main(void) { return twice(2) != 4; }' | \
		cc -x c -o $@ - -x none $<
$(BUILD)/unit/%.o: %.c
	@mkdir -p $(@D)
	cc -MMD -g -O0 -c -o $@ $<
.SECONDARY:
-include $(shell find $(BUILD)/unit -name '*.d' 2>/dev/null)
EOC

# row ID OLD NEW FIELD...: one more row
row() {
	id=$1 old=$2 new=$3
	shift 3
	{ echo; echo "== agent/add.c $id"; printf '%s\n' "$@"
	  printf -- '-- old\n%b-- new\n%b-- end\n' "$old" "$new"; } >> tests/mutants/one.rows
}
rc=0
fail() { echo "$*"; rc=1; }
# says STATUS PATTERN...: the last run ended so, and each pattern is in what it said
says() {
	[ "$got" = "$1" ] || fail "exit $got, not $1"
	shift
	for pattern; do
		grep -q -e "$pattern" out || fail "not said: $pattern"
	done
	[ $rc = 0 ] || { cat out; exit 1; }
}
# A build folder and flags of another make must not reach the trees.
run() { MUTANTS_LEAST=3 BUILD=wrong MAKEFLAGS=-n python3 "$here/mutants.py" --root . "$@" > out 2>&1; got=$?; }

row wrong-sign '\treturn a + b;\n' '\treturn a - b + 1;\n' 'sees: a sum that is none' 'class: arithmetic'
row no-end '\treturn a + b;\n' '\treturn 0;\n' 'sees: a hang' 'class: edges'
row below '\tif (a < 0)\n' '\tif (a < -1)\n' 'sees: nothing' 'class: edges'
row of-less '\t\treturn b - -a;\n' '\t\treturn b + -a;\n' 'sees: a wrong sum' 'class: arithmetic'
row by-hand '\treturn 2 * a;\n' '\treturn 3 * a;\n' 'sees: wrong' 'class: units' 'tests: e2e/program.sh'
row same-code '\treturn 2 * a;\n' '\treturn (2 * a);\n' 'sees: nothing' 'class: units'
row no-c '\treturn 2 * a;\n' '\treturn 2 * ;\n' 'sees: nothing' 'class: units'
row marked '\treturn 2 * a;\n' '\treturn a + a;\n' 'same: as much'
run --check
says 0 '^8 rows'

run --jobs 2
says 2 'wrong-sign: noticed by test_add' 'no-end: noticed by test_add (no end)' \
	'of-less: survived' 'by-hand: noticed by e2e/program.sh' 'same-code: error the compiler' \
	'no-c: error does not build' '^agent  *8  *1  *3  *2  *0  *2  *60 %' \
	'^survived: tests/mutants/one.rows:[0-9]*: agent/add.c of-less: a wrong sum'
grep -q 'test_other' out && fail 'a program was asked that does not link the file'

# Nothing of a fault is left, and what has a verdict is not run again.
for tree in base job1 job2; do
	build/mutants/$tree/build/test_add || fail "$tree: a fault is left in test_add"
	build/mutants/$tree/build/proflaunch || fail "$tree: a fault is left in the program"
	cmp agent/add.c build/mutants/$tree/agent/add.c || fail "$tree: a fault is left"
done
sed -i '/ same-code$/,/^-- end/d; / no-c$/,/^-- end/d' tests/mutants/one.rows
run
says 1 '^mutants: 6 rows, 0 to run' '^agent  *6  *1  *3  *2  *0  *0  *60 %'

# A test that was changed is asked again; what no test can notice has a reason.
sed -i 's/add(two, 2) != 4;/add(two, 2) != 4 || add(-two, 2) != 0;/' tests/unit/test_add.c
sed -i 's/^sees: nothing/&\nknown: -1 is as well served there/' tests/mutants/one.rows
run --only 'of-*' --only below
says 0 '^mutants: 2 rows, 2 to run' 'of-less: noticed by test_add' '^known: .*as well served'

# What stands in the tree is what is mutated, whatever its time says.
sed -i 's/return 2 \* a/return 4 * a/' agent/add.c
touch -d '2001-01-01' agent/add.c
sed -i 's/return 2 \* a/return 4 * a/' tests/mutants/one.rows
run --only by-hand
says 1 'not asked: build/e2e/program.sh: fail without a fault'

row not-there '\tgone\n' '\tcame\n' 'sees: x' 'class: edges'
row twice-there '{\n' '{ ;\n' 'sees: x' 'class: edges'
row below '\tif (a < 0)\n' '\tif (a <= 0)\n' 'sees: x' 'class: edges'
row odd-fields '\tif (a < 0)\n' '\tif (a < 1)\n' 'sees: x' 'class: cats' 'colour: red' 'tests: test_no'
run --check
says 2 '^tests/mutants/one.rows:[0-9]*: its text is 0 times' 'its text is 2 times' \
	'agent/add.c below is at tests/mutants/one.rows:[0-9]*, too' "unknown class 'cats'" \
	"unknown field 'colour'" 'no test tests/unit/test_no.c'
exit $rc
