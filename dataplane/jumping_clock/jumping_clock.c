/* Preloaded into a program, it sets that program's wall clock ahead or back, as an operator or NTP may set a machine's.
 *
 * The file $ARMOR_CLOCKS holds, for each process id, a signed 64-bit number of nanoseconds in the byte order of the
 * machine. CLOCK_MONOTONIC and what the kernel times itself are left alone. libfaketime cannot do that: told to leave
 * CLOCK_MONOTONIC alone, it breaks clock_nanosleep (its issue 426).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static const volatile int64_t *offsets_ns;
static pid_t offset_count;

__attribute__((constructor)) static void map_offsets(void)
{
    const char *path = getenv("ARMOR_CLOCKS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (file < 0)
        return;
    if (fstat(file, &status) == 0) {
        void *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) {
            offset_count = (pid_t)((size_t)status.st_size / sizeof(int64_t));
            offsets_ns = mapped;
        }
    }
    close(file);
}

static int64_t offset_ns(void)
{
    pid_t pid = getpid();
    return offsets_ns && pid < offset_count ? offsets_ns[pid] : 0;
}

static int read_clock(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = read_clock(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = now->tv_sec * NS_PER_S + now->tv_nsec + offset_ns();
        now->tv_sec = ns / NS_PER_S;
        now->tv_nsec = ns % NS_PER_S;
    }
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return status;
}

time_t time(time_t *result)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
