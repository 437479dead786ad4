/* The maps of the 1+1 program, as it and its loader (dataplane/decide/protect.py) share them.
 *
 * Addresses and masks are in network order, everything else in the machine's.
 */
#ifndef ARMOR_PROTECT_H
#define ARMOR_PROTECT_H

#include <linux/bpf.h>
#include <linux/types.h>

#define MAX_SLOTS 4096        /* a connection's slot is the VLAN id that stands for it on the hairpin; 0 is none */
#define MAX_RECEIVING 8192
#define MAX_PORTS 64
#define MAX_FLOWS 64
#define SEEN_WORDS 16         /* 1,024 numbers; a history of at most 960 never meets a word that is being cleared */

struct node {
    __u32 address;
    __u32 protocol;           /* the IP protocol number of protected packets */
    __u32 table;              /* which of the two flow tables counts */
    __u32 unused;
};

struct port {                 /* what to do with packets that come in by an interface; 0 is no interface */
    __u32 plain;              /* where unprotected packets go */
    __u32 first, second;      /* where protected ones go; a copy to each */
    __u32 tags;               /* whether a VLAN tag names a connection */
};

struct sending {              /* the PTI of a connection */
    __u32 used;
    __u32 egress;
    __u32 connection;
    __u32 last;
    __u64 sent;
};

struct receiving {            /* the PTE of a connection */
    struct bpf_spin_lock lock;
    __u32 last;
    __u32 ingress;
    __u32 window;
    __u32 history;
    __u32 unused;
    __u64 accepted, late, duplicate, out_of_window;
    __u64 seen[SEEN_WORDS];   /* bit n % 1024 stands for number n */
};

struct flow {
    __u32 source, source_mask, destination, destination_mask;
    __u16 source_first, source_last;            /* ranges of ports, both ends included */
    __u16 destination_first, destination_last;
    __u8 protocol;                              /* 0: TCP and UDP */
    __u8 unused;
    __u16 slot;
};

struct flow_table {
    __u32 count;
    __u32 unused;
    struct flow rows[MAX_FLOWS];
};

struct totals {
    __u64 plain;              /* forwarded as they came */
    __u64 unknown;            /* to this node, but no connection of it explains them: dropped */
    __u64 gso;                /* merged segments, which cannot be numbered one by one: dropped */
    __u64 failed;             /* the kernel had no room for the headers, or the packet would be too long: dropped */
};

#endif
