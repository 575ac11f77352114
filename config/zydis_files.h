/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zydis_files - what the library that decodes functions is called, for the agent and the
 * launcher.
 *
 * Threads  any.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef CONFIG_ZYDIS_FILES_H
#define CONFIG_ZYDIS_FILES_H

#define ZYDIS_NAME "libZydis.so.4"
/* The likeliest first. */
#define ZYDIS_FILES                              \
	{                                        \
		ZYDIS_NAME ".0", ZYDIS_NAME ".1" \
	}

#endif
