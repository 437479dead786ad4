/* What the SQR program, its replay agent and its loader (dataplane/sqr_core.py) share: the ring and its control block.
 *
 * Both are memory-mapped. Numbers are in the machine's order, times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef ARMOR_SQR_H
#define ARMOR_SQR_H

#include <linux/types.h>

#define SLOT_DATA 2024
#define SHORTEST_FRAME 14

struct slot {
    __u64 seq;                /* tag + 1, written last; 0 while the slot is being written */
    __u64 sent_ns;
    __u32 length;
    __u32 unused;
    __u8 data[SLOT_DATA];
};

/* TURNING: one processor has seen the failure and is working out where the replay begins; it holds, like HOLD. */
enum state { STATE_UP, STATE_HOLD, STATE_BACKUP, STATE_TURNING };
enum source { SOURCE_NONE, SOURCE_SEND, SOURCE_CARRIER, SOURCE_TOLD };
enum request { REQUEST_NONE, REQUEST_FAIL, REQUEST_RESTORE };
/* A queue that is full refuses packets too, with a positive code; a port without a queue has no other reason. */
enum in_send { IN_SEND_NEVER, IN_SEND_ERRORS, IN_SEND_REFUSALS };
enum chosen { CHOOSE_TCP_PORT = 1, CHOOSE_DSCP = 2, CHOOSE_VLAN = 4 };

struct control {
    __u32 state;
    __u32 primary, backup;    /* interface indexes */
    __u32 mask;               /* slots - 1 */
    __u32 margin;             /* packets before the one that failed that are retransmitted */
    __u32 choose;             /* which kinds of `chosen` count; 0: every packet is protected */
    __u32 in_send;            /* which sends that fail mean that the port has failed */
    __u32 paused;             /* whether the backstop keeps packets out of the ring */
    __u32 ready;              /* whether the backup may be used */
    __u32 request;            /* what somebody asks the agent to do */
    __u64 delta_ns;
    __u64 reconfiguration_ns;
    __u64 floor;              /* the oldest tag that a replay may begin with */
    __u64 head;               /* the next tag (PktTag); on a line of its own, it changes with every packet */
    __u64 head_line[7];
    __u64 tail;               /* the next tag to replay (NextPktTag) */
    __u64 tail_line[7];
    __u64 detected_ns;
    __u32 source;
    __u32 pace_ns;            /* the agent's: from one replayed packet to the next; 0: none, see replay.c */
    __u64 cached, cached_bytes, held, direct, other;
    __u64 too_big, gso, unprotected, young, pending, send_failed, queue_full;
    __u64 replayed, replay_failed; /* these two by the agent */
};

#endif
