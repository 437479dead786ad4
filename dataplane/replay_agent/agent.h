/* What the parts of the replay agent share. */
#ifndef ARMOR_AGENT_H
#define ARMOR_AGENT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../programs/sqr.h"

#define SECOND_NS UINT64_C(1000000000)
#define SAMPLES 256               /* of a port's bytes, within one delta */

#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define STORE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_SEQ_CST)

struct sample { uint64_t at_ns, bytes; };

struct port {
    struct control *control;
    struct slot *ring;
    uint64_t slots;
    char primary[IF_NAMESIZE], backup[IF_NAMESIZE];
    int socket;
    bool running, reported;      /* the primary has its carrier; the failure was printed */
    uint64_t usable_since_ns;     /* of SB': since when the primary has been seen to work again; 0: not yet */
    uint64_t replay_began, replayed_before, settled_at_ns;
    uint64_t pace_ns, due_ns, before_ns; /* when the next packet may leave; when the one before it had been sent first */
    struct sample samples[SAMPLES];
    size_t newest;
};

struct settings {
    struct port *ports;
    size_t port_count;
    uint64_t poll_ns, pause_above, resume_below;
    bool realtime;
};

/* settings.c */
uint64_t now_ns(void);
_Noreturn void fail(const char *what, const char *which);
struct settings read_arguments(int count, char **words);

/* replay.c */
void begin(struct port *port, uint32_t source);       /* hold, with what was sent within delta as the window */
void take_over(struct port *port);                    /* what an agent before this one has begun */
bool serve(struct port *port, bool *busy);            /* a turn; whether there is more at once, or soon */
void let_go(struct port *port);                       /* send what waits, as far as that is possible, and hold no more */
bool has_carrier(const char *name);
uint64_t waiting_bytes(const struct port *port);      /* of the packets that a port that holds has still to send */
void print_state(const struct port *port, const char *event);

static inline struct slot *slot_of(const struct port *port, uint64_t tag)
{
    return &port->ring[tag & (port->slots - 1)];
}

#endif
