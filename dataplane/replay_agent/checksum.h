/* The checksum that a sending host has left to its card: nobody fills it in when bytes are retransmitted.
 *
 * Such a packet carries the sum of its pseudo-header in the checksum field. Only then is the checksum made; one that is
 * merely wrong stays wrong, and the receiver drops the packet as it would have dropped the original.
 */
#ifndef ARMOR_CHECKSUM_H
#define ARMOR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#define ETHERNET_BYTES 14
#define TAG_BYTES 4
#define TCP 6
#define UDP 17
#define TCP_CHECKSUM 16           /* offsets of the checksum in both headers */
#define UDP_CHECKSUM 6

static inline uint32_t add_words(const uint8_t *bytes, size_t count, uint32_t sum)
{
    for (; count > 1; bytes += 2, count -= 2)
        sum += (uint32_t)bytes[0] << 8 | bytes[1];
    return count ? sum + ((uint32_t)bytes[0] << 8) : sum;
}

static inline uint32_t fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16);
}

/* Fill in the TCP or UDP checksum of an Ethernet frame with a whole IPv4 packet, if its sender left it out. */
static inline void fill_checksum(uint8_t *frame, size_t length)
{
    size_t at = ETHERNET_BYTES;
    while (length >= at + TAG_BYTES && ((frame[at - 2] == 0x81 && frame[at - 1] == 0) ||
                                        (frame[at - 2] == 0x88 && frame[at - 1] == 0xa8)))
        at += TAG_BYTES;
    uint8_t *ip = frame + at;
    if (length < at + 20 || frame[at - 2] != 0x08 || frame[at - 1] != 0 || ip[0] >> 4 != 4)
        return;
    size_t header = (ip[0] & 15) * (size_t)4, total = (size_t)ip[2] << 8 | ip[3];
    size_t field = ip[9] == TCP ? TCP_CHECKSUM : ip[9] == UDP ? UDP_CHECKSUM : 0;
    if (!field || header < 20 || total > length - at || total < header + field + 2 || (ip[6] & 0x3f) || ip[7])
        return;
    uint8_t *transport = ip + header;
    uint32_t pseudo = fold(add_words(ip + 12, 8, ip[9]) + (uint32_t)(total - header));
    if (((uint32_t)transport[field] << 8 | transport[field + 1]) != pseudo)
        return;
    /* The field holds the pseudo-header's sum already, so summing everything counts that once. */
    uint32_t sum = ~fold(add_words(transport, total - header, 0)) & 0xffff;
    if (!sum && ip[9] == UDP)
        sum = 0xffff;
    transport[field] = (uint8_t)(sum >> 8);
    transport[field + 1] = (uint8_t)sum;
}

#endif
