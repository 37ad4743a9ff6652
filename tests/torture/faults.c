/*
 * Count the changes that a process and its children make to files, and stop at one of them.
 *
 * Loaded with LD_PRELOAD. The first 24 bytes of the file named by TORTURE_FAULTS are shared by all processes: the
 * number of changes so far, the number at which the fault happens (0: never), and the fault. Fault 1 kills the group of
 * processes before the change. Fault 2 answers this change and all later ones with "no space left on device".
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct plan {
    uint64_t count, at, fault;
};
static struct plan *plan;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("TORTURE_FAULTS");
    int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int file = path ? real_open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared != MAP_FAILED) plan = shared;
}

/* Return whether the change may not happen. */
static int refused(int grows) {
    if (!plan || !plan->fault) return 0;
    uint64_t number = __atomic_add_fetch(&plan->count, 1, __ATOMIC_SEQ_CST);
    if (!plan->at || number < plan->at) return 0;
    if (plan->fault == 1) {
        kill(0, SIGKILL);
        for (;;) pause();
    }
    if (plan->fault == 2 && grows) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

static int on_disk(int file) {
    struct stat status;
    int before = errno, regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    errno = before;
    return regular;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define CHANGES(flags) ((flags) & (O_CREAT | O_TRUNC))

#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...) {                          \
        REAL(name);                                                       \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                     \
        if (CHANGES(flags) && refused(1)) return -1;                      \
        return real(path, flags, mode);                                   \
    }
#define OPENAT(name)                                                      \
    int name(int folder, const char *path, int flags, ...) {              \
        REAL(name);                                                       \
        va_list rest;                                                     \
        va_start(rest, flags);                                            \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                     \
        if (CHANGES(flags) && refused(1)) return -1;                      \
        return real(folder, path, flags, mode);                           \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define CHANGE(name, grows, parameters, ...)            \
    int name parameters {                               \
        REAL(name);                                     \
        if (refused(grows)) return -1;                  \
        return real(__VA_ARGS__);                       \
    }
CHANGE(rename, 1, (const char *from, const char *to), from, to)
CHANGE(renameat, 1, (int one, const char *from, int two, const char *to), one, from, two, to)
CHANGE(renameat2, 1, (int one, const char *from, int two, const char *to, unsigned how), one, from, two, to, how)
CHANGE(link, 1, (const char *from, const char *to), from, to)
CHANGE(linkat, 1, (int one, const char *from, int two, const char *to, int how), one, from, two, to, how)
CHANGE(symlink, 1, (const char *from, const char *to), from, to)
CHANGE(unlink, 0, (const char *path), path)
CHANGE(unlinkat, 0, (int folder, const char *path, int how), folder, path, how)
CHANGE(rmdir, 0, (const char *path), path)
CHANGE(mkdir, 1, (const char *path, mode_t mode), path, mode)
CHANGE(mkdirat, 1, (int folder, const char *path, mode_t mode), folder, path, mode)
CHANGE(fsync, 1, (int file), file)
CHANGE(fdatasync, 1, (int file), file)
CHANGE(ftruncate, 0, (int file, off_t size), file, size)
CHANGE(ftruncate64, 0, (int file, off64_t size), file, size)

#define WRITE(name, parameters, ...)                             \
    ssize_t name parameters {                                    \
        REAL(name);                                              \
        if (plan && plan->fault && on_disk(file) && refused(1)) return -1; \
        return real(__VA_ARGS__);                                \
    }
WRITE(write, (int file, const void *from, size_t size), file, from, size)
WRITE(pwrite, (int file, const void *from, size_t size, off_t at), file, from, size, at)
WRITE(pwrite64, (int file, const void *from, size_t size, off64_t at), file, from, size, at)
WRITE(writev, (int file, const struct iovec *parts, int number), file, parts, number)
