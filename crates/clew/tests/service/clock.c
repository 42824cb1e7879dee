/* A clock that is wrong by CLEW_TEST_SHIFT seconds, for one process: LD_PRELOAD. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    long done = syscall(SYS_clock_gettime, clock, time);
    const char *shift = getenv("CLEW_TEST_SHIFT");
    if (done == 0 && clock == CLOCK_REALTIME && shift) time->tv_sec += atol(shift);
    return (int)done;
}
