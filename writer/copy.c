/* SPDX-License-Identifier: Apache-2.0 */
/* A spool read by pread: its header first, then its descriptors, and the records of
 * one window at a time. */
#include "writer/copy.h"
#include "base/search.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_MOST     (1ull << 40) /* buffer_mb allows no larger spool */
#define COUNTERS_MOST 4096 /* chunks of counters in one chain */

uint32_t copy_most = 1u << 16;

int copy_bytes(int fd, void *to, uint64_t at, uint64_t size)
{
	uint64_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENODATA;
		done += (uint64_t)n;
	}
	return 0;
}

/* ---- the header ---- */

static bool is_empty(const uint8_t *base)
{
	static const uint8_t none[8];

	return !memcmp(base, none, sizeof(none));
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Maps room for all that lies before `used`, as far as the file has it. */
static int map_room(struct copy *c, uint64_t size, uint64_t used)
{
	uint64_t room = smaller_of(smaller_of(size, c->view.head->cap),
				   smaller_of(used, COPY_MOST));
	void *more;

	room &= ~(uint64_t)(CHUNK_SMALL - 1);
	if (room <= c->mapped)
		return 0;
	more = mremap(c->base, c->mapped, room, MREMAP_MAYMOVE);
	if (more == MAP_FAILED)
		return -ENOMEM;
	c->base = more;
	c->mapped = room;
	return spool_view_init(&c->view, c->base, room);
}

static int read_header(struct copy *c, uint64_t size)
{
	struct spool_header *h;
	uint8_t first[8] = { 0 };
	int err;

	if (size < SPOOL_HEADER) {
		err = copy_bytes(c->fd, first, 0, smaller_of(size, sizeof(first)));
		return err ? err : is_empty(first) ? -ENODATA : -EINVAL;
	}
	c->base = mmap(NULL, SPOOL_HEADER, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->base == MAP_FAILED) {
		c->base = NULL;
		return -ENOMEM;
	}
	c->mapped = SPOOL_HEADER;
	err = copy_bytes(c->fd, c->base, 0, SPOOL_HEADER);
	if (err || is_empty(c->base))
		return err ? err : -ENODATA;
	if (spool_view_init(&c->view, c->base, SPOOL_HEADER))
		return -EINVAL;
	h = (struct spool_header *)c->base;
	h->last_file[sizeof(h->last_file) - 1] = '\0';
	return map_room(c, size, atomic_load(&h->used));
}

/* Reads the header again from `limit` on: chunks taken meanwhile, and what the process
 * says by now. What has been checked stays. A file that shrinks gives no more. */
static int follow_growth(struct copy *c)
{
	const size_t from = offsetof(struct spool_header, limit);
	struct spool_header *h = (struct spool_header *)c->base;
	struct sys_stat st;

	if (sys_fstat(c->fd, &st) ||
	    copy_bytes(c->fd, c->base + from, from, SPOOL_HEADER - from))
		return 0;
	h->last_file[sizeof(h->last_file) - 1] = '\0';
	return map_room(c, st.size, atomic_load(&h->used));
}

void copy_trim(int fd)
{
	uint64_t used = 0;
	struct sys_stat st;
	char magic[8];

	if (sys_fstat(fd, &st) || copy_bytes(fd, magic, 0, sizeof(magic)) ||
	    memcmp(magic, SPOOL_MAGIC, sizeof(magic)) ||
	    copy_bytes(fd, &used, offsetof(struct spool_header, used), sizeof(used)))
		return;
	used = used < SPOOL_HEADER ? SPOOL_HEADER : used;
	used = (used + CHUNK_SMALL - 1) & ~(uint64_t)(CHUNK_SMALL - 1);
	if (used >= SPOOL_HEADER && used < st.size &&
	    fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)used,
		      (off_t)(st.size - used)))
		return; /* the file system punches no holes */
}

/* ---- chunks ---- */

/* Sizes are multiples of CHUNK_SMALL, so a search for the next chunk may step by that. */
static bool is_sound(const struct chunk *c, uint64_t room)
{
	return c->magic == CHUNK_MAGIC && c->size >= CHUNK_SMALL &&
	       !(c->size % CHUNK_SMALL) && c->size <= room && c->size <= CHUNK_LARGE;
}

/* Where no chunk begins at `at`: the next place where one may, past a hole in the
 * file. */
static uint64_t skip_to_data(const struct copy *c, uint64_t at)
{
	off_t data = lseek(c->fd, (off_t)(at + CHUNK_SMALL), SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? c->mapped : at + CHUNK_SMALL;
	return (uint64_t)data & ~(uint64_t)(CHUNK_SMALL - 1);
}

/* Reads a descriptor; its chunk holds nothing else. */
static int read_info(struct copy *c, const struct copy_chunk *k)
{
	struct chunk *mine = (struct chunk *)(c->base + k->offset);
	int err = copy_bytes(c->fd, mine, k->offset,
			     sizeof(*mine) + sizeof(struct cycle_info));

	mine->size = k->size;
	return err;
}

/* Reads a whole chunk to its own offset: names, for one, are looked up by where they
 * lie. */
static int read_chunk_whole(struct copy *c, const struct copy_chunk *k)
{
	struct chunk *mine = (struct chunk *)(c->base + k->offset);
	int err = copy_bytes(c->fd, mine, k->offset, k->size);

	mine->magic = CHUNK_MAGIC;
	mine->size = k->size;
	if (atomic_load(&mine->used) > k->size)
		atomic_store(&mine->used, 0);
	return err;
}

static int note_cycle(struct copy *c, const struct copy_chunk *k)
{
	if (k->kind != CHUNK_CYCLE)
		return 0;
	if (c->cycles == copy_most) {
		c->left_out++;
		return 0;
	}
	c->cycles++;
	return read_info(c, k);
}

/* Passes over a descriptor that is new since note_cycle read them, or that was left out,
 * and a chunk of a kind that no window needs, such as one of counters. */
static int note_chunk(struct copy *c, const struct copy_chunk *k)
{
	struct chunk *mine = (struct chunk *)(c->base + k->offset);
	int err = 0;

	if (k->kind == CHUNK_DATA || k->kind == CHUNK_CUDA)
		err = index_add(&c->index, k->cycle, k->offset);
	else if (k->kind == CHUNK_CYCLE && atomic_load(&mine->kind) != CHUNK_CYCLE)
		return 0;
	else if (k->kind != CHUNK_CYCLE && k->kind != CHUNK_NAMES &&
		 k->kind != CHUNK_STACKS)
		return 0;
	return err ? err : pile_add(&c->chunks, k, sizeof(*k));
}

static int each_chunk(struct copy *c,
		      int (*note)(struct copy *c, const struct copy_chunk *k))
{
	uint64_t at = SPOOL_HEADER;
	struct chunk head;
	int err = 0;

	while (!err && at < c->mapped && c->mapped - at >= CHUNK_SMALL) {
		err = copy_bytes(c->fd, &head, at, sizeof(head));
		if (err)
			break;
		if (!is_sound(&head, c->mapped - at)) {
			at = skip_to_data(c, at);
			continue;
		}
		err = note(c,
			   &(struct copy_chunk){ at, head.cycle, head.size, head.kind });
		at += head.size;
	}
	/* The spool is shorter than it says, or shrinks as it is read: what was read
	 * counts. */
	return err == -ENODATA ? 0 : err;
}

/* First reads how far windows are, then what chunks there are. The other way round a
 * window that its process finishes in between would look whole, and lack its last records
 * and names. */
static int read_chunks(struct copy *c)
{
	return each_chunk(c, note_cycle) ?: follow_growth(c)
	       ?: each_chunk(c, note_chunk) ?: index_sort(&c->index);
}

int copy_open(struct copy *c, int fd)
{
	struct sys_stat st;
	int err = sys_fstat(fd, &st);

	*c = (struct copy){ .fd = fd };
	err = err ?: read_header(c, st.size) ?: read_chunks(c);
	if (err)
		copy_close(c);
	return err;
}

void copy_close(struct copy *c)
{
	index_free(&c->index);
	pile_free(&c->chunks);
	pile_unmap(c->base, c->mapped);
	*c = (struct copy){ .fd = -1 };
}

int copy_texts(struct copy *c)
{
	const struct copy_chunk *k = c->chunks.mem;
	int err = 0;

	for (size_t i = 0; i < c->chunks.n && !err; i++)
		if (k[i].kind == CHUNK_NAMES || k[i].kind == CHUNK_STACKS)
			err = read_chunk_whole(c, &k[i]);
	return err == -ENODATA ? 0 : err;
}

/* ---- one window ---- */

/* Finds the chunk at that offset in the sorted list. */
static const struct copy_chunk *chunk_of(const struct copy *c, uint64_t offset)
{
	const struct copy_chunk *k = c->chunks.mem;
	size_t at = SEARCH_FIRST(i, 0, c->chunks.n, k[i].offset >= offset);

	return at < c->chunks.n && k[at].offset == offset ? &k[at] : NULL;
}

/* Another window has the chunk by now if its header says so: then none of its records
 * count. */
static int load_chunk(uint64_t offset, void *arg)
{
	struct copy *c = arg;
	const struct copy_chunk *k = chunk_of(c, offset);
	struct chunk *mine = (struct chunk *)(c->base + offset);
	int err = k ? read_chunk_whole(c, k) : 0;

	if (k && (mine->cycle != k->cycle || atomic_load(&mine->kind) != k->kind))
		atomic_store(&mine->used, 0);
	return err == -ENODATA ? 0 : err;
}

/* The kernel takes the pages back; the address space stays at the same offset, for the
 * next look. */
static int drop_chunk(uint64_t offset, void *arg)
{
	struct copy *c = arg;
	const struct copy_chunk *k = chunk_of(c, offset);
	int saved = errno;

	if (k)
		madvise(c->base + offset, k->size, MADV_DONTNEED);
	errno = saved;
	return 0;
}

int copy_window(struct copy *c, uint64_t cycle)
{
	return index_chunks(&c->index, cycle, load_chunk, c);
}

void copy_drop(struct copy *c, uint64_t cycle)
{
	index_chunks(&c->index, cycle, drop_chunk, c);
}

const struct cycle_info *copy_cycle(const struct copy *c, size_t *at, uint64_t *state)
{
	const struct copy_chunk *k = c->chunks.mem;

	while (*at < c->chunks.n) {
		const struct copy_chunk *one = &k[(*at)++];
		struct chunk *mine = (struct chunk *)(c->base + one->offset);

		if (one->kind != CHUNK_CYCLE || atomic_load(&mine->kind) != CHUNK_CYCLE ||
		    atomic_load(&mine->used) < sizeof(*mine) + sizeof(struct cycle_info))
			continue;
		*state = one->offset + sizeof(*mine) + offsetof(struct cycle_info, state);
		return (const struct cycle_info *)(mine + 1);
	}
	return NULL;
}

/* ---- counters ---- */

static void add_all(uint64_t sum[SPOOL_COUNTERS], const uint8_t *at, const uint8_t *end)
{
	for (; at + sizeof(struct spool_counters) <= end;
	     at += sizeof(struct spool_counters)) {
		const struct spool_counters *one = (const struct spool_counters *)at;

		for (unsigned i = 0; i < SPOOL_COUNTERS; i++)
			sum[i] += atomic_load_explicit((_Atomic uint64_t *)&one->sum[i],
						       memory_order_relaxed);
	}
}

bool copy_counters(int fd, uint64_t sum[SPOOL_COUNTERS])
{
	_Alignas(64) uint8_t room[CHUNK_LARGE];
	const struct chunk *c = (const struct chunk *)room;
	uint64_t at = 0;

	memset(sum, 0, SPOOL_COUNTERS * sizeof(*sum));
	if (copy_bytes(fd, &at, offsetof(struct spool_header, counters), sizeof(at)) ||
	    !at)
		return false;
	/* A hostile chain that leads back into itself ends at COUNTERS_MOST. */
	for (unsigned i = 0; at && i < COUNTERS_MOST; i++) {
		uint32_t used;

		if (at < SPOOL_HEADER || at % CHUNK_SMALL || at > COPY_MOST ||
		    copy_bytes(fd, room, at, sizeof(*c)))
			return false;
		used = c->used < c->size ? c->used : c->size;
		if (c->magic != CHUNK_MAGIC || c->kind != CHUNK_COUNTERS ||
		    used > CHUNK_LARGE || used < sizeof(*c) ||
		    copy_bytes(fd, room + sizeof(*c), at + sizeof(*c), used - sizeof(*c)))
			return false;
		add_all(sum, room + sizeof(*c), room + used);
		at = c->next_left;
	}
	return true;
}
