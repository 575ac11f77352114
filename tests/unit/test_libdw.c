/* SPDX-License-Identifier: Apache-2.0 */
/* Our table of libdw's functions against elfutils' own headers: what differs does not
 * compile. */
#if __has_include(<elfutils/libdwfl.h>)
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "launcher/symbols/libdw.h"

#define LIBDW(result, name, arguments) extern result name arguments;
#include "launcher/symbols/libdw.def"
#undef LIBDW

_Static_assert(TAG_CLASS_TYPE == (int)DW_TAG_class_type, "");
_Static_assert(TAG_LEXICAL_BLOCK == (int)DW_TAG_lexical_block, "");
_Static_assert(TAG_COMPILE_UNIT == (int)DW_TAG_compile_unit, "");
_Static_assert(TAG_STRUCTURE_TYPE == (int)DW_TAG_structure_type, "");
_Static_assert(TAG_UNION_TYPE == (int)DW_TAG_union_type, "");
_Static_assert(TAG_INLINED_SUBROUTINE == (int)DW_TAG_inlined_subroutine, "");
_Static_assert(TAG_MODULE == (int)DW_TAG_module, "");
_Static_assert(TAG_WITH_STMT == (int)DW_TAG_with_stmt, "");
_Static_assert(TAG_CATCH_BLOCK == (int)DW_TAG_catch_block, "");
_Static_assert(TAG_SUBPROGRAM == (int)DW_TAG_subprogram, "");
_Static_assert(TAG_TRY_BLOCK == (int)DW_TAG_try_block, "");
_Static_assert(TAG_NAMESPACE == (int)DW_TAG_namespace, "");
_Static_assert(TAG_SKELETON_UNIT == (int)DW_TAG_skeleton_unit, "");
_Static_assert(AT_CALL_FILE == (int)DW_AT_call_file, "");
_Static_assert(AT_CALL_LINE == (int)DW_AT_call_line, "");
_Static_assert(AT_LINKAGE_NAME == (int)DW_AT_linkage_name, "");
_Static_assert(AT_MIPS_LINKAGE_NAME == (int)DW_AT_MIPS_linkage_name, "");
#define THERE true
#else
#define THERE false
#endif

#include "tests/unit/unit.h"

START_TEST(the_headers_agree)
{
	ck_assert(true); /* we are here */
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("libdw");

	if (!THERE) {
		printf("there are no headers of libdw\n");
		return 77;
	}
	tcase_add_test(tc, the_headers_agree);
	return unit_run(tc, "libdw");
}
