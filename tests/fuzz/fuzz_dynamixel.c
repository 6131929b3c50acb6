/* Dynamixel bytes from a hostile wire: whatever comes out of the parser is inside its buffer, can be built again, and
 * then parses to the same. */
#include "codec/dynamixel.h"
#include "codec/dynamixel_tables.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct nm_dxl_parser *parser, const struct nm_dxl_packet *p)
{
    if (p->protocol != 1 && p->protocol != 2) abort();
    if (p->data < parser->bytes || p->data + p->n > parser->bytes + parser->used) abort();
    uint8_t out[NM_DXL_PACKET_MAX];
    bool status = p->instruction == NM_DXL_STATUS;
    size_t n = status ? nm_dxl_status(p->protocol, p->id, p->error, p->data, p->n, out, sizeof out)
                      : nm_dxl_build(p->protocol, p->id, p->instruction, p->data, p->n, out, sizeof out);
    if (!n) return; /* stuffing can make it longer than we take */
    static struct nm_dxl_parser again;
    struct nm_dxl_packet q;
    nm_dxl_parser_init(&again, p->protocol, parser->answers);
    if (nm_dxl_feed(&again, out, n) != n) abort();
    /* id FF and an id FD without length are headers of something else */
    if (p->id == 0xFF || !nm_dxl_next(&again, &q)) {
        if (p->id < 0xFD) abort();
        return;
    }
    if (q.id != p->id || q.n != p->n || q.error != p->error || memcmp(q.data, p->data, p->n)) abort();
}

static void decode(const struct nm_dxl_packet *p)
{
    size_t n;
    const struct nm_dxl_model *models = nm_dxl_models(&n);
    const struct nm_dxl_register *r;
    for (size_t m = 0; m < n && p->n >= 4; m++)
        for (size_t i = 0; (r = nm_dxl_register_at(&models[m], i)); i++) {
            uint8_t bytes[4];
            nm_dxl_encode(r, nm_dxl_decode(r, p->data), bytes);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    static struct nm_dxl_parser parser;
    struct nm_dxl_packet p;
    uint8_t how = data[0], cut = data[1];
    nm_dxl_parser_init(&parser, (uint8_t)(how & 3), how & 4);
    for (size_t at = 2; at < size;) {
        size_t n = cut % 31 + 1u;
        cut = (uint8_t)(cut * 13 + 7);
        if (n > size - at) n = size - at;
        size_t taken = nm_dxl_feed(&parser, data + at, n);
        at += taken;
        bool found = false;
        while (nm_dxl_next(&parser, &p)) {
            check(&parser, &p);
            decode(&p);
            found = true;
            if (how & 8) nm_dxl_reject(&parser);
        }
        if (!taken && !found) abort(); /* it must always make room */
    }
    while (nm_dxl_last(&parser, &p)) check(&parser, &p);
    if (parser.used) abort();
    return 0;
}
