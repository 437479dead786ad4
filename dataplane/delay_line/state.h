/* What the delay line remembers: interfaces, options and counters, and the frames that wait, in a heap by due time.
 * Part of delay_line.c, which includes it once.
 */
#ifndef ARMOR_DELAY_LINE_STATE_H
#define ARMOR_DELAY_LINE_STATE_H

#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
#define TAG_BYTES 4              /* an 802.1Q tag, which the kernel takes out of received frames */
#define HEADER_ROOM 128          /* tpacket2_hdr, sockaddr_ll, padding and the reserve */
#define MAX_AGE_NS SECOND_NS     /* a stamp older than this is a clock that was set, not a frame that waited */
#define LATE_BUCKETS 2000        /* lateness is counted by the microsecond up to here */
#define BATCH 128
#define CARRIER_POLL_MS 20       /* the kernel may tell of a carrier up to a second late */
#define USAGE "[--realtime] [--frames N] [--seed N] [--reorder] A,B,DELAY_US[,JITTER_US[,DELAY_US,JITTER_US]] ..."
#define REALTIME_PRIORITY 2      /* above ovs-vswitchd's 1: a line is not delayed by what it connects */

struct end {                     /* an interface and the direction that begins at it */
    char name[IFNAMSIZ];
    struct end *other;
    int socket;
    uint8_t *ring;
    unsigned char *held;         /* whether a slot holds a frame that waits */
    uint32_t frame_bytes, next_slot;
    uint64_t delay_ns, jitter_ns, last_due_ns;
    uint64_t relayed, ring_full, send_failed, truncated;
};

struct waiting {                 /* a frame in its slot */
    uint64_t due_ns, number;
    uint32_t end, slot;
};

static struct end *ends;
static size_t end_count;
static struct waiting *heap;
static size_t heap_size;
static uint64_t frames_seen, random_state = 1, late_max_ns, late_us[LATE_BUCKETS + 1];
static uint32_t ring_frames = 512;
static bool reorder, realtime;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "delay_line: %s %s: %s\n", what, which, strerror(errno));
    exit(1);
}

static void usage(const char *complaint, const char *word)
{
    fprintf(stderr, "delay_line: %s %s; use: delay_line " USAGE "\n", complaint, word);
    exit(2);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* SplitMix64 (Steele, Lea, Flood 2014): the same seed gives the same jitter. */
static uint64_t next_random(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- the heap: the frame that is due first is heap[0] */
static bool before(const struct waiting *a, const struct waiting *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void heap_push(struct waiting entry)
{
    size_t at = heap_size++;
    for (; at > 0 && before(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
}

static struct waiting heap_pop(void)
{
    struct waiting first = heap[0], last = heap[--heap_size];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < heap_size; at = child) {
        if (child + 1 < heap_size && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

#endif
