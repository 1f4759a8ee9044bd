/* For the fault tests, loaded before the C library: a wall clock that can be set, a disk that can be full,
 * and for every tracked file a record of what it held before each write since its last sync, so that the
 * harness can take those writes back after a kill. Reads its variables once:
 *   SELVEDGE_SHIM_CONTROL  a file that holds {int64 nanoseconds to add to the wall clock; int32 disk is full;
 *                          int32 syncs are ignored}
 *   SELVEDGE_SHIM_TRACK    the folder whose *.db* files are tracked
 * Nothing of it is part of any build of Selvedge. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control { volatile int64_t offset_ns; volatile int32_t disk_full; volatile int32_t ignore_syncs; };
static struct control none;
static struct control *control = &none;
static char track[4096];
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SELVEDGE_SHIM_CONTROL");
    const char *folder = getenv("SELVEDGE_SHIM_TRACK");
    if (folder && strlen(folder) < sizeof track) strcpy(track, folder);
    if (!path) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (at != MAP_FAILED) control = at;
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
    int done = (int)syscall(SYS_clock_gettime, clock, ts);
    if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = ts->tv_sec * 1000000000LL + ts->tv_nsec + control->offset_ns;
        ts->tv_sec = ns / 1000000000LL;
        ts->tv_nsec = ns % 1000000000LL;
    }
    return done;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    (void)zone;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (into) *into = ts.tv_sec;
    return ts.tv_sec;
}

/* The path of a tracked file, or 0. */
static int tracked(int fd, char path[4096]) {
    if (!track[0]) return 0;
    char link[64] = "/proc/self/fd/";
    char digits[16];
    int at = 0, rest = fd;
    if (fd < 0) return 0;
    do { digits[at++] = (char)('0' + rest % 10); rest /= 10; } while (rest);
    size_t end = strlen(link);
    while (at) link[end++] = digits[--at];
    link[end] = 0;
    ssize_t length = readlink(link, path, 4000);
    if (length <= 0) return 0;
    path[length] = 0;
    if (strncmp(path, track, strlen(track)) != 0) return 0;
    const char *name = strrchr(path, '/');
    if (!name || !strstr(name, ".db") || strstr(name, "-shm") || strstr(name, ".undo")) return 0;
    return 1;
}

/* Notes what stands at [offset, offset + length) and how long the file is. */
static void note(int fd, char *path, int64_t offset, int64_t length) {
    struct stat now;
    if (fstat(fd, &now) != 0) return;
    int64_t held = now.st_size > offset ? now.st_size - offset : 0;
    if (held > length) held = length;
    uint64_t head[3] = {(uint64_t)offset, (uint64_t)held, (uint64_t)now.st_size};
    char *record = malloc(sizeof head + (size_t)held);
    if (!record) return;
    memcpy(record, head, sizeof head);
    ssize_t got = held ? syscall(SYS_pread64, fd, record + sizeof head, (size_t)held, offset) : 0;
    strcat(path, ".undo");
    int undo = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (undo >= 0 && got == held) syscall(SYS_write, undo, record, sizeof head + (size_t)held);
    if (undo >= 0) syscall(SYS_close, undo);
    free(record);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    char path[4096];
    if (!tracked(fd, path)) return syscall(SYS_write, fd, bytes, count);
    if (control->disk_full) { errno = ENOSPC; return -1; }
    pthread_mutex_lock(&one);
    note(fd, path, lseek(fd, 0, SEEK_CUR), (int64_t)count);
    ssize_t done = syscall(SYS_write, fd, bytes, count);
    pthread_mutex_unlock(&one);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    char path[4096];
    if (!tracked(fd, path)) return syscall(SYS_pwrite64, fd, bytes, count, offset);
    if (control->disk_full) { errno = ENOSPC; return -1; }
    pthread_mutex_lock(&one);
    note(fd, path, offset, (int64_t)count);
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, count, offset);
    pthread_mutex_unlock(&one);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}

int ftruncate64(int fd, off64_t length) {
    char path[4096];
    if (!tracked(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&one);
    note(fd, path, length, INT64_MAX / 2);
    int done = (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_unlock(&one);
    return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int synced(int fd, long number) {
    char path[4096];
    int is_tracked = tracked(fd, path);
    if (is_tracked) pthread_mutex_lock(&one);
    int done = (int)syscall(number, fd);
    if (is_tracked) {
        if (done == 0 && !control->ignore_syncs) {
            strcat(path, ".undo");
            int undo = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_TRUNC | O_CLOEXEC, 0);
            if (undo >= 0) syscall(SYS_close, undo);
        }
        pthread_mutex_unlock(&one);
    }
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
