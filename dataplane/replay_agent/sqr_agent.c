/* sqr_agent: send the window of a protected port again by its backup when the port has failed (SQR, section IV).
 *
 *     sqr_agent [--poll-us N] [--realtime] [--pause-above BYTES --resume-below BYTES] CONTROL_ID,RING_ID ...
 *
 * Each port is two BPF maps, given by their ids and mapped here: a control block and a ring (dataplane/programs/sqr.h).
 * While ports are up the agent only looks at their states. A failure is seen by the program in the kernel (a send that
 * fails), by the interface losing its carrier (netlink), or by somebody who asks for it in the control block; for the
 * latter two the window is what was sent within delta. The replay sends the window in order, then what has arrived
 * behind it, and leaves the port to the program when nothing waits. Several ports take turns, a batch each.
 *
 * Backup and primary may be one interface (SB'): the replay waits until it has its carrier again, and the port is then
 * protected anew. Caching pauses on all ports while they hold more than --pause-above bytes, until --resume-below.
 *
 * Prints one JSON line for each event, stamped in nanoseconds of CLOCK_MONOTONIC; messages go to standard error. Ends
 * on SIGTERM and SIGINT, and with the thread that started it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>

#include "agent.h"

#define BUSY_NS 50000             /* how long to wait when the backup's queue is full, or a slot is being written */
#define REALTIME_PRIORITY 2

static struct settings own;
static bool paused;

/* ---- links */
static void see_carriers(void)
{
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++) {
        bool before = port->running;
        port->running = has_carrier(port->primary);
        if (before && !port->running)
            begin(port, SOURCE_CARRIER);
    }
}

/* Link news only say that something changed; what is asked for. A full socket loses news, which is news as well. */
static void read_link_news(int news)
{
    char text[16384];
    bool any = false;
    ssize_t bytes;
    while ((bytes = recv(news, text, sizeof text, MSG_DONTWAIT)) > 0 || (bytes < 0 && errno == ENOBUFS))
        any = true;
    if (any)
        see_carriers();
}

static int open_link_news(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    int news = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (news < 0 || bind(news, (struct sockaddr *)&address, sizeof address) != 0)
        fail("cannot hear of", "links");
    return news;
}

/* ---- the backstop */
/* Bytes that a port must keep: what it sent within delta, or what waits. */
static uint64_t needed_bytes(struct port *port, uint64_t now)
{
    struct control *control = port->control;
    uint64_t bytes = LOAD(control->cached_bytes), needed = 0;
    uint32_t state = LOAD(control->state);
    if (state != STATE_UP && state != STATE_TURNING) /* a port that turns has no window yet */
        return waiting_bytes(port);
    if (now - port->samples[port->newest].at_ns >= control->delta_ns / (SAMPLES - 2)) {
        port->newest = (port->newest + 1) % SAMPLES;
        port->samples[port->newest] = (struct sample){now, bytes};
    }
    for (size_t back = 0; back < SAMPLES; back++) {
        const struct sample *sample = &port->samples[(port->newest + SAMPLES - back) % SAMPLES];
        needed = bytes - sample->bytes;
        if (sample->at_ns + control->delta_ns < now)
            break;
    }
    return needed;
}

static void watch_memory(void)
{
    uint64_t now = now_ns(), used = 0;
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
        used += needed_bytes(port, now);
    bool before = paused;
    paused = used > own.pause_above || (paused && used >= own.resume_below);
    if (paused == before)
        return;
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
        STORE(port->control->paused, paused);
    printf("{\"event\": \"%s\", \"t_ns\": %ju, \"bytes\": %ju}\n", paused ? "paused" : "resumed", (uintmax_t)now,
           (uintmax_t)used);
    fflush(stdout);
}

/* ---- the loop */
static void run(struct pollfd *watched)
{
    for (bool more = false, busy = false;;) {
        /* A turn is given at least so often; what the kernel detects is not signalled. */
        uint64_t wait_ns = more ? 0 : busy ? BUSY_NS : own.poll_ns;
        struct timespec wait = {(time_t)(wait_ns / SECOND_NS), (long)(wait_ns % SECOND_NS)};
        if (ppoll(watched, 2, &wait, NULL) > 0) {
            if (watched[0].revents)
                return;
            read_link_news(watched[1].fd);
        }
        more = busy = false;
        for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
            more |= serve(port, &busy);
        if (own.pause_above)
            watch_memory();
    }
}

int main(int count, char **words)
{
    sigset_t caught;
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigprocmask(SIG_BLOCK, &caught, NULL);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    own = read_arguments(count, words);
    struct pollfd watched[2] = {{.fd = signalfd(-1, &caught, SFD_CLOEXEC), .events = POLLIN},
                                {.fd = open_link_news(), .events = POLLIN}};
    if (watched[0].fd < 0)
        fail("cannot wait for", "signals");
    /* Where the system refuses real-time priority the replay is only later. */
    own.realtime = own.realtime && sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){REALTIME_PRIORITY}) == 0;
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
        take_over(port), STORE(port->control->paused, 0); /* an agent before this one may have paused it */
    see_carriers(); /* a link that failed before the news were heard */
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
        print_state(port, "ready");
    run(watched);
    for (struct port *port = own.ports; port < own.ports + own.port_count; port++)
        let_go(port), STORE(port->control->paused, 0), print_state(port, "end");
    return 0;
}
