/* Preloaded into a dstcc process beside faults.c: counts allocations by where they are asked for, and lets one fail (make
 * crash-memory). */
#define _GNU_SOURCE
#define Py_BUILD_CORE
#include <Python.h>
#include <internal/pycore_frame.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void _ZSt17__throw_bad_allocv(void) __attribute__((noreturn));

/* Where something is allocated: a function of this project, or a place in its compiled code. */
struct site {
	uint64_t id;
	long count, first; /* how many there were before the first of it, anywhere */
	char name[240];
};
enum { SITES = 1 << 14 };
static struct site sites[SITES];
static char project[PATH_MAX];
static size_t project_length;
static uint64_t fails_at;
static long fails_as, counting, total;

static struct object {
	uintptr_t base, begin, end;
	int python;
	const char *name;
} ours[64];
static int objects;

/* Code of Python and of this project's extensions. Arrow, NumPy and others end the process where they get no memory. */
static int of_ours(struct dl_phdr_info *object, size_t size, void *unused)
{
	const char *name = object->dlpi_name;
	int python = name[0] == '\0' || strstr(name, "/libpython") != NULL;

	(void)size, (void)unused;
	if (!python && strstr(name, "/dstcc/engine/_") == NULL && strstr(name, "/dstcc_svc/_") == NULL)
		return 0;
	for (int part = 0; part < object->dlpi_phnum && objects < 64; part++)
		if (object->dlpi_phdr[part].p_type == PT_LOAD && (object->dlpi_phdr[part].p_flags & PF_X)) {
			const char *end = strrchr(name, '/');
			uintptr_t begin = object->dlpi_addr + object->dlpi_phdr[part].p_vaddr;

			ours[objects++] = (struct object){object->dlpi_addr, begin, begin + object->dlpi_phdr[part].p_memsz, python,
							  end ? end + 1 : name};
		}
	return 0;
}

/* From now on allocations are counted by their sites, of code below this folder, and the one of this number at this site fails
 * (0: none). */
void crash_memory(const char *root, uint64_t site, long number)
{
	objects = 0;
	dl_iterate_phdr(of_ours, NULL);
	snprintf(project, sizeof project, "%s/", root);
	project_length = strlen(project);
	fails_at = site;
	fails_as = number;
	total = 0;
	memset(sites, 0, sizeof sites);
	__atomic_store_n(&counting, 1, __ATOMIC_SEQ_CST);
}

/* No longer; what was counted is written to a file, a line each. */
void crash_memory_over(int log)
{
	char line[320];

	__atomic_store_n(&counting, 0, __ATOMIC_SEQ_CST);
	for (int one = 0; log >= 0 && one < SITES; one++)
		if (sites[one].id != 0) {
			int length = snprintf(line, sizeof line, "site\t%llu %ld %ld\t%s\n", (unsigned long long)sites[one].id,
					      sites[one].count, sites[one].first, sites[one].name);
			syscall(SYS_write, log, line, (size_t)length);
		}
}

static uint64_t mixed(uint64_t hash, const char *text)
{
	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

/* The innermost function of this project that runs; NULL where that cannot be known. */
static PyCodeObject *running(void)
{
	PyCodeObject *found = NULL;
#if PY_VERSION_HEX < 0x030d0000
	if (!PyGILState_Check())
		return NULL;
	PyThreadState *thread = _PyThreadState_UncheckedGet();
	for (_PyInterpreterFrame *frame = thread->cframe->current_frame; frame != NULL && found == NULL; frame = frame->previous) {
		PyCodeObject *code = frame->f_code;
		const char *file = PyUnicode_IS_COMPACT_ASCII(code->co_filename) ? PyUnicode_DATA(code->co_filename) : "";
		if (strncmp(file, project, project_length) == 0 && strncmp(file + project_length, ".venv/", 6) != 0 &&
		    strncmp(file + project_length, "tests/", 6) != 0)
			found = code;
	}
#endif
	return found;
}

/* Count an allocation; whether it is the one that fails. */
static int counted(uint64_t id, const char *file, const char *function, long place)
{
	long before = __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
	id += id == 0;
	struct site *site = &sites[id % SITES];
	for (int tried = 0; tried < SITES; tried++, site = &sites[(id + (uint64_t)tried) % SITES]) {
		uint64_t none = 0;
		if (__atomic_load_n(&site->id, __ATOMIC_SEQ_CST) == id)
			break;
		if (__atomic_compare_exchange_n(&site->id, &none, id, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			site->first = before;
			snprintf(site->name, sizeof site->name, "%s:%ld %s", file, place, function);
			break;
		}
	}
	return __atomic_add_fetch(&site->count, 1, __ATOMIC_SEQ_CST) == fails_as && id == fails_at;
}

static int refused(const void *from)
{
	static __thread int within;
	int fails = 0;

	if (!counting || within)
		return 0;
	within = 1;
	for (int one = 0; one < objects; one++) {
		if ((uintptr_t)from < ours[one].begin || (uintptr_t)from >= ours[one].end)
			continue;
		long place = (long)((uintptr_t)from - ours[one].base);
		if (!ours[one].python) {
			fails = counted(mixed((uint64_t)place + 1, ours[one].name), ours[one].name, "", place);
			break;
		}
		PyCodeObject *code = running();
		if (code == NULL) {
			fails = counted(1, "elsewhere", "", 0);
			break;
		}
		const char *file = (const char *)PyUnicode_DATA(code->co_filename) + project_length;
		const char *name = PyUnicode_IS_COMPACT_ASCII(code->co_qualname) ? PyUnicode_DATA(code->co_qualname) : "";
		uint64_t id = mixed(mixed((uint64_t)code->co_firstlineno, file), name);
		fails = counted(id, file, name, code->co_firstlineno);
		break;
	}
	within = 0;
	if (fails)
		errno = ENOMEM;
	return fails;
}

void *malloc(size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

/* operator new */
void *_Znwm(size_t size)
{
	void *made = refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size ? size : 1);

	if (made == NULL)
		_ZSt17__throw_bad_allocv();
	return made;
}

void *_Znam(size_t size)
{
	void *made = refused(__builtin_return_address(0)) ? NULL : __libc_malloc(size ? size : 1);

	if (made == NULL)
		_ZSt17__throw_bad_allocv();
	return made;
}

