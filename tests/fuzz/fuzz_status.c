/* Bytes that pretend to be a status packet: what is read can be written, and reads the same again. */
#include <stdlib.h>

#include "codec/cdr.h"
#include "core/nm.h"
#include "modules/team/status_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static RobotStatus status, back;
    static uint8_t bytes[1472];
    if (!nm_status_read(data, size, &status)) return 0;
    size_t n = nm_status_write(&status, bytes, sizeof bytes);
    if (!n || !nm_status_read(bytes, n, &back) || strcmp(back.software, status.software)) abort();
    return 0;
}
