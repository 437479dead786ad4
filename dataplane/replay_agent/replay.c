/* The replay: from a failure that was seen to a port that needs no agent any more. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "agent.h"
#include "checksum.h"

#define BATCH 64
#define FASTER 4
/* After a replay, for packets that were on their way into the ring; after the return of a carrier, see is_back(). */
#define SETTLE_NS 5000000
#define TURN_NS 10000000
/* At the end of the agent: how often, and how long, it waits until it can send what waits. */
#define LAST_TRIES 2000
#define LAST_WAIT_NS 50000

/* ---- the ring */
/* Search backwards from the newest slot for the first that was sent before a time, or is gone; as dataplane/model/slots.py. */
static uint64_t window_start(const struct port *port, uint64_t head, uint64_t since_ns)
{
    uint64_t first = head, floor = LOAD(port->control->floor);
    while (first > floor && head - first < port->slots) {
        struct slot *slot = slot_of(port, first - 1);
        uint64_t seq = LOAD(slot->seq);
        if (seq > first || (seq == first && slot->sent_ns < since_ns))
            break;
        first--;
    }
    return first;
}

enum reading { READY, NOT_YET, GONE };

static enum reading read_slot(const struct port *port, uint64_t tag, uint8_t *frame, uint32_t *length)
{
    struct slot *slot = slot_of(port, tag);
    uint64_t seq = LOAD(slot->seq);
    if (seq == tag + 1) {
        *length = slot->length <= SLOT_DATA ? slot->length : 0;
        memcpy(frame, slot->data, *length);
        seq = LOAD(slot->seq);
    }
    if (seq == tag + 1)
        return READY;
    return seq > tag + 1 || LOAD(port->control->head) > tag + port->slots ? GONE : NOT_YET;
}

/* ---- events */
static void print_event(const struct port *port, const char *event, uint64_t at_ns)
{
    printf("{\"event\": \"%s\", \"t_ns\": %ju, \"port\": \"%s\", \"backup\": \"%s\"", event, (uintmax_t)at_ns,
           port->primary, port->backup);
}

static void end_event(void)
{
    printf("}\n");
    fflush(stdout);
}

/* Bytes of the slots that wait: what the window holds, of which the ring keeps the newest. */
uint64_t waiting_bytes(const struct port *port)
{
    uint64_t bytes = 0, tag = LOAD(port->control->tail), head = LOAD(port->control->head);
    if (head > tag + port->slots)
        tag = head - port->slots;
    for (; tag < head; tag++)
        bytes += slot_of(port, tag)->length;
    return bytes;
}

static void print_detected(struct port *port)
{
    static const char *const sources[] = {"nobody", "send", "carrier", "notified"};
    struct control *control = port->control;
    uint64_t first = LOAD(control->tail), head = LOAD(control->head), seen = control->detected_ns;
    struct slot *oldest = slot_of(port, first);
    uint64_t age = first < head && oldest->sent_ns < seen ? seen - oldest->sent_ns : 0;
    port->reported = true;
    port->usable_since_ns = 0;
    port->replay_began = 0;
    port->replayed_before = control->replayed;
    print_event(port, "detected", seen);
    printf(", \"source\": \"%s\", \"noticed_ns\": %ju, \"window\": %ju, \"bytes\": %ju, \"oldest_age_ns\": %ju",
           sources[control->source <= SOURCE_TOLD ? control->source : SOURCE_NONE], (uintmax_t)now_ns(),
           (uintmax_t)(head - first), (uintmax_t)waiting_bytes(port), (uintmax_t)age);
    end_event();
}

void print_state(const struct port *port, const char *event)
{
    print_event(port, event, now_ns());
    printf(", \"state\": %u, \"head\": %ju, \"tail\": %ju, \"replayed\": %ju", LOAD(port->control->state),
           (uintmax_t)LOAD(port->control->head), (uintmax_t)LOAD(port->control->tail), (uintmax_t)port->control->replayed);
    end_event();
}

/* ---- detection */
/* Ask the kernel something about an interface; any socket will do. */
static bool ask(unsigned long question, const char *name, struct ifreq *request)
{
    static int asking = -1;
    if (asking < 0 && (asking = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
        fail("cannot ask for the state of", name);
    memcpy(request->ifr_name, name, strnlen(name, IF_NAMESIZE - 1));
    return ioctl(asking, question, request) == 0;
}

bool has_carrier(const char *name)
{
    struct ifreq request = {0};
    return ask(SIOCGIFFLAGS, name, &request) && request.ifr_flags & IFF_UP && request.ifr_flags & IFF_RUNNING;
}

/* The carrier of this moment; an interface that does not tell is taken by its flags alone. */
static bool has_link(const char *name)
{
    struct ethtool_value link = {.cmd = ETHTOOL_GLINK};
    struct ifreq request = {.ifr_data = (void *)&link};
    return ask(SIOCETHTOOL, name, &request) ? link.data : errno == EOPNOTSUPP;
}

/* From up to hold, with what was sent within delta. */
static void turn(struct port *port, uint32_t source)
{
    struct control *control = port->control;
    uint64_t now = now_ns(), since_ns = now > control->delta_ns ? now - control->delta_ns : 0; /* the clock may be young */
    control->detected_ns = now;
    control->source = source;
    STORE(control->ready, 0);
    STORE(control->tail, window_start(port, LOAD(control->head), since_ns));
    STORE(control->state, STATE_HOLD);
}

/* Begin to hold; nothing if the program has seen the failure before. */
void begin(struct port *port, uint32_t source)
{
    uint32_t up = STATE_UP;
    if (__atomic_compare_exchange_n(&port->control->state, &up, STATE_TURNING, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        turn(port, source);
}

/* An agent that was killed while it turned a port leaves the port to the next one. The program needs no time to turn. */
void take_over(struct port *port)
{
    const struct timespec wait = {0, TURN_NS};
    if (LOAD(port->control->state) == STATE_TURNING)
        nanosleep(&wait, NULL);
    if (LOAD(port->control->state) == STATE_TURNING)
        turn(port, SOURCE_TOLD);
}

/* ---- replay */
static bool is_passing(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == EINTR;
}

/* A packet leaves at the pace, or FASTER times as fast as it came if that is faster: what comes meanwhile would else
 * never be caught up with. Who is late makes a batch good at most, so that no next hop's buffer is overrun. */
static void catch_up(struct port *port, uint64_t now)
{
    uint64_t credit_ns = BATCH * port->pace_ns;
    if (port->due_ns + credit_ns < now)
        port->due_ns = now - credit_ns;
}

static void wait_after(struct port *port, uint64_t tag)
{
    uint64_t came_ns = slot_of(port, tag)->sent_ns;
    uint64_t gap_ns = came_ns > port->before_ns ? (came_ns - port->before_ns) / FASTER : 0;
    port->due_ns += gap_ns < port->pace_ns ? gap_ns : port->pace_ns;
    port->before_ns = came_ns;
}

/* Send what is due, up to a batch, by the backup; true if it makes sense to go on at once. */
static bool replay_batch(struct port *port)
{
    static uint8_t frames[BATCH][SLOT_DATA];
    struct control *control = port->control;
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    uint64_t tags[BATCH], tail = LOAD(control->tail), head = LOAD(control->head), now = now_ns();
    enum reading last = READY;
    unsigned count = 0;
    catch_up(port, now);
    for (; count < BATCH && tail < head && port->due_ns <= now; tail++) {
        uint32_t length;
        last = read_slot(port, tail, frames[count], &length);
        if (last != READY)
            break;
        wait_after(port, tail);
        if (!length)
            continue;
        fill_checksum(frames[count], length);
        parts[count] = (struct iovec){frames[count], length};
        messages[count].msg_hdr = (struct msghdr){.msg_iov = &parts[count], .msg_iovlen = 1};
        tags[count++] = tail;
    }
    int sent = count ? sendmmsg(port->socket, messages, count, MSG_DONTWAIT) : 0;
    if (sent < 0 && (is_passing(errno) || (errno == ENETDOWN && control->backup == control->primary)))
        return false;
    if (sent < 0) { /* the backup has failed as well, or the frame is too long for it */
        control->replay_failed++;
        STORE(control->tail, tags[0] + 1);
        return true;
    }
    control->replayed += (unsigned)sent;
    if ((unsigned)sent < count)
        tail = tags[sent];
    else if (last == GONE) /* the program has counted what it wrote over */
        tail = head > tail + port->slots ? head - port->slots + 1 : tail + 1;
    STORE(control->tail, tail);
    return (unsigned)sent == count && last != NOT_YET && port->due_ns <= now;
}

static void finish_replay(struct port *port, uint64_t now)
{
    struct control *control = port->control;
    STORE(control->state, STATE_BACKUP);
    port->settled_at_ns = now + SETTLE_NS;
    print_event(port, "replayed", now);
    printf(", \"packets\": %ju, \"since_detection_ns\": %ju, \"replay_ns\": %ju",
           (uintmax_t)(control->replayed - port->replayed_before), (uintmax_t)(now - control->detected_ns),
           (uintmax_t)(now - port->replay_began));
    end_event();
}

/* Whether the primary works again, for some time: a port that has just got its carrier back throws packets away without
 * a word until the kernel has put its queue back. IFF_RUNNING follows a carrier late, the other question blocks while
 * interfaces are being changed elsewhere, so it is asked only here. */
static bool is_back(struct port *port, uint64_t now)
{
    if (!has_link(port->primary) || !has_carrier(port->primary))
        port->usable_since_ns = 0;
    else if (!port->usable_since_ns)
        port->usable_since_ns = now;
    return port->usable_since_ns && now >= port->usable_since_ns + SETTLE_NS;
}

/* Whether the backup may be used now. Where it is the primary, a replay that has begun asks only what never blocks: one
 * that waited for others' changes of interfaces at every batch would not overtake what arrives. */
static bool may_replay(struct port *port, uint64_t now)
{
    struct control *control = port->control;
    if (control->backup != control->primary || (LOAD(control->ready) && has_carrier(port->primary)))
        return true;
    STORE(control->ready, 0);
    return is_back(port, now);
}

static bool hold(struct port *port, bool *busy)
{
    struct control *control = port->control;
    uint64_t now = now_ns(); /* after the detection, also if that was in the same turn */
    if (!port->reported)
        print_detected(port);
    if (now < control->detected_ns + control->reconfiguration_ns || !may_replay(port, now))
        return false;
    if (!LOAD(control->ready) || !port->replay_began) { /* or an agent before this one has begun */
        port->replay_began = now;
        STORE(control->ready, 1);
    }
    *busy = true;
    bool going = replay_batch(port);
    if (LOAD(control->tail) == LOAD(control->head))
        finish_replay(port, now_ns());
    return going;
}

/* Take a request away if it still stands, since another may take its place at any time; what stood there. */
static uint32_t take_request(struct control *control, uint32_t request)
{
    uint32_t found = request;
    __atomic_compare_exchange_n(&control->request, &found, REQUEST_NONE, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return found;
}

static void restore(struct port *port, uint64_t now)
{
    struct control *control = port->control;
    if (take_request(control, REQUEST_RESTORE) == REQUEST_FAIL)
        return; /* it has failed again since it was asked to be restored */
    STORE(control->floor, LOAD(control->head)); /* what it held has left by the backup */
    STORE(control->ready, 0);
    for (size_t number = 0; number < SAMPLES; number++) /* the ring holds nothing that is needed any more */
        port->samples[number] = (struct sample){now, LOAD(control->cached_bytes)};
    port->reported = false;
    port->running = has_carrier(port->primary);
    STORE(control->state, STATE_UP);
    print_event(port, "restored", now);
    end_event();
}

/* Give a port its turn; true if it has more to do at once, `*busy` if it has more to do soon. */
bool serve(struct port *port, bool *busy)
{
    struct control *control = port->control;
    uint64_t now = now_ns();
    uint32_t state = LOAD(control->state), request = LOAD(control->request);
    if (request == REQUEST_RESTORE && state == STATE_UP) /* it is restored; a later failure must not find this */
        take_request(control, REQUEST_RESTORE);
    if (request == REQUEST_FAIL) {
        take_request(control, REQUEST_FAIL);
        begin(port, SOURCE_TOLD);
        state = LOAD(control->state);
    }
    if (state == STATE_HOLD)
        return hold(port, busy);
    if (state != STATE_BACKUP)
        return false;
    if (LOAD(control->tail) < LOAD(control->head))
        return replay_batch(port);
    if (now >= port->settled_at_ns && (request == REQUEST_RESTORE || control->backup == control->primary))
        restore(port, now);
    return false;
}

/* A port must not hold for ever when nobody replays. What waits is sent if the backup may be used, which the agent may
 * not have asked yet. */
void let_go(struct port *port)
{
    const struct timespec wait = {0, LAST_WAIT_NS};
    struct control *control = port->control;
    bool usable = true;
    port->pace_ns = port->due_ns = 0;
    for (unsigned tries = 0; tries < LAST_TRIES && usable && LOAD(control->state) == STATE_HOLD;) {
        usable = false;
        if (!hold(port, &usable)) /* the backup's queue is full, or a slot is being written */
            nanosleep(&wait, NULL), tries++;
    }
    if (LOAD(control->state) == STATE_HOLD)
        STORE(control->state, STATE_BACKUP);
}
