#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No object of the agent may call what allocates, prints, ends the process, reads the
# environment behind our back, takes over a signal, or is a cancellation point.  The writer
# alone may print doubles, and wait: it has threads of its own.
rc=0
banned='malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|vasprintf|posix_memalign'
banned="$banned|aligned_alloc|printf|fprintf|vfprintf|sprintf|vsprintf|vsnprintf|snprintf|puts|putchar"
banned="$banned|fputs|fwrite|fopen|fclose|fdopen|popen|system|exit|_exit|_Exit|quick_exit|abort"
banned="$banned|__assert_fail|perror|getenv|secure_getenv|setenv|putenv|unsetenv|signal|sigaction"
banned="$banned|sigset|longjmp|siglongjmp|__printf_chk|__fprintf_chk|__snprintf_chk|__longjmp_chk"
# In a thread of the program's that was cancelled these end it, in the middle of us.
cancel='open|open64|openat|openat64|close|read|pread|pread64|write|pwrite|nanosleep|usleep|poll|waitpid'
objects=$(find "$BUILD/so" -name '*.o')
[ -n "$objects" ] || { echo "no objects in $BUILD/so"; exit 1; }
for o in $objects; do
	case $o in
	*/so/writer/*) allowed="snprintf|__snprintf_chk|$cancel" ;;
	*) allowed='' ;;
	esac
	bad=$(nm -u "$o" | awk '{ print $2 }' | sed 's/@.*//' | grep -xE "$banned|$cancel" |
		grep -vxE "${allowed:-none}" | tr '\n' ' ')
	[ -z "$bad" ] || { echo "$o calls $bad"; rc=1; }
done
exit $rc
