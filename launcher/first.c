/* SPDX-License-Identifier: Apache-2.0 */
/* `proflaunch train.py`: a user who has typed no "--" means a file, or a command, as it
 * would be typed without proflaunch. The words behind "--" are taken as execvp takes
 * them, so that nothing differs there; a line only tells what the user may have meant. */
#include "launcher/first.h"
#include "base/near.h"
#include "base/text.h"
#include "config/several.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PYTHON "python3"

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Runs "python3 train.py arguments" in place of "train.py arguments". */
static int run_by_python(struct args *a, struct target *t, const char *why)
{
	const char *script = a->command[0];
	size_t n = 0;
	char **with;

	if (target_find(t, PYTHON)) {
		say_warn("%s %s, and PATH has no " PYTHON " that could run it", script,
			 why);
		return 127;
	}
	while (a->command[n])
		n++;
	with = malloc((n + 2) * sizeof(*with));
	if (!with) {
		say_warn("%s: %s", script, strerror(ENOMEM));
		return 126;
	}
	with[0] = PYTHON;
	memcpy(with + 1, a->command, (n + 1) * sizeof(*with));
	a->command = with;
	say_note("%s %s: run by %s", script, why, t->path);
	return 0;
}

static const char *near_verb(const char *word)
{
	struct near near = near_begin(word);

	for (const char *const *verb = args_verbs; *verb; verb++)
		near_try(&near, *verb);
	return near.best;
}

/* The option may stand alone, and the word behind it is neither its value nor a command.
 */
static void say_no_value(const char *flag, const char *word)
{
	const struct config_option *o = config_find(flag + 2);

	if (!strncmp(flag, "--with", 6) || (o && o->type == CFG_text))
		say_warn(
			"%s: its value stands behind '=', as in %s=off, and no command '%s' is found",
			flag, flag, word);
	else if (o && *o->values)
		say_warn("%s: '%s' is none of %s%s, and no command of that name is found",
			 flag, word, o->type == CFG_set ? SEVERAL_SWITCH : "", o->values);
	else
		say_warn(
			"%s: '%s' is neither on nor off, and no command of that name is found",
			flag, word);
}

static int refuse_bare(const struct args *a, int err)
{
	const char *word = a->command[0], *verb = near_verb(word);

	if (a->flag) {
		say_no_value(a->flag, word);
		return 2;
	}
	if (err == -EACCES)
		say_warn("%s: %s", word, strerror(EACCES));
	else if (verb)
		say_warn("%s: command not found (did you mean 'proflaunch %s'?)", word,
			 verb);
	else
		say_warn("%s: command not found", word);
	return err == -EACCES ? 126 : 127;
}

static int refuse_exact(const char *word, int err)
{
	bool python = text_ends(word, ".py") && is_file(word);

	if (err != -ENOENT && python)
		say_warn("%s: %s (it is not executable: " PYTHON " %s)", word,
			 strerror(-err), word);
	else if (err != -ENOENT)
		say_warn("%s: %s", word, strerror(-err));
	else if (is_file(word))
		say_warn("%s: command not found (a file of that name is here: %s%s)",
			 word, python ? PYTHON " " : "./", word);
	else
		say_warn("%s: command not found", word);
	return err == -ENOENT ? 127 : 126;
}

int first_find(struct args *a, struct target *t)
{
	const char *word = a->command[0];
	char here[PATH_MAX];
	bool file = is_file(word), local = file && strchr(word, '/');
	int err = target_find(t, word);

	if (!err && *t->lacks) {
		say_warn("%s: its first line names %s, which is not there", word,
			 t->lacks);
		return 127;
	}
	if (!a->bare)
		return err ? refuse_exact(word, err) : 0;
	if (err == -ENOENT && file && !local &&
	    (size_t)snprintf(here, sizeof(here), "./%s", word) < sizeof(here)) {
		local = true;
		err = target_find(t, here);
	}
	if (local && text_ends(word, ".py") && err)
		return run_by_python(a, t, "is not executable");
	/* A shell, which reads files without a #! line, would make nonsense of a .py
	 * file. */
	if (local && text_ends(word, ".py") && t->text)
		return run_by_python(a, t, "has no #! line");
	return err ? refuse_bare(a, err) : 0;
}
