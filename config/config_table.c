/* SPDX-License-Identifier: Apache-2.0 */
/* The table of config.def, as the agent, the launcher and the manual read it. */
#include "base/text.h"
#include "config/config.h"

const char *(*config_check)(const char *name, const char *value);

/* The help texts, one after another; each is told by its distance from the first. */
static const struct helps {
#define CFG(type, name, def, low, high, choices, unit, help) char name[sizeof(help)];
#include "config/config.def"
#undef CFG
} helps = {
#define CFG(type, name, def, low, high, choices, unit, help) help,
#include "config/config.def"
#undef CFG
};

/* "off|count|sample|all" */
#define IS_TEXT(number, text) text
#define OR_TEXT(number, text) "|" text
#define TEXTS(choices)        "" choices(IS_TEXT, OR_TEXT)

const struct config_option config_options[] = {
#define CFG(type, name, def, low, high, choices, unit, help) \
	{ #name,                                             \
	  def,                                               \
	  TEXTS(choices),                                    \
	  unit,                                              \
	  offsetof(struct helps, name),                      \
	  CFG_##type,                                        \
	  offsetof(struct config, name),                     \
	  low,                                               \
	  high },
#include "config/config.def"
#undef CFG
	{ "" }
};

const struct config_alias config_aliases[] = {
	{ "with_stack", "python_stack" },
	{ "with_modules", "modules" },
	{ "with_flops", "flops" },
	{ "" },
};

/* A text that fills its member would have no end. */
#define FITS(text, member) \
	_Static_assert(sizeof(text) <= sizeof(config_options[0].member), #member);
#define CFG(a_type, a_name, a_def, a_low, a_high, a_choices, a_unit, a_help) \
	FITS(#a_name, name)                                                  \
	FITS(a_def, def) FITS(TEXTS(a_choices), values) FITS(a_unit, unit)
#include "config/config.def"
#undef CFG
#undef FITS

const char *config_help(const struct config_option *o)
{
	return (const char *)&helps + o->help_at;
}

/* ---- what options mean together ---- */

/* One option asks for another: FLOPs are computed from inputs. */
bool config_wants_inputs(const struct config *c)
{
	return c->record_shapes || c->flops;
}

bool config_wants_modules(const struct config *c)
{
	return c->modules || c->python_stack == PYTHON_FULL;
}

bool config_marker_is(const struct config *c, const char *by)
{
	return text_after(c->marker, by);
}
