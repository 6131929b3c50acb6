#include "cmd/canvas.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/files.h"

/* Letters of 5 by 8 dots, ' ' to '~', a byte a column, the lowest bit at the top: the character set of dot-matrix
 * displays. */
enum { COLUMNS = 5, ROWS = 8, FIRST = ' ', LAST = '~', DOT = CANVAS_LETTER / (COLUMNS + 1) };
static const char letters[LAST - FIRST + 1][2 * COLUMNS + 1] = {
    "0000000000", "00005F0000", "0007000700", "147F147F14", "242A7F2A12", "2313086462", "3649562050", "0008070300",
    "001C224100", "0041221C00", "2A1C7F1C2A", "08083E0808", "0080703000", "0808080808", "0000606000", "2010080402",
    "3E5149453E", "00427F4000", "7249494946", "2141494D33", "1814127F10", "2745454539", "3C4A494931", "4121110907",
    "3649494936", "464949291E", "0000140000", "0040340000", "0008142241", "1414141414", "0041221408", "0201590906",
    "3E415D594E", "7C1211127C", "7F49494936", "3E41414122", "7F4141413E", "7F49494941", "7F09090901", "3E41415173",
    "7F0808087F", "00417F4100", "2040413F01", "7F08142241", "7F40404040", "7F021C027F", "7F0408107F", "3E4141413E",
    "7F09090906", "3E4151215E", "7F09192946", "2649494932", "03017F0103", "3F4040403F", "1F2040201F", "3F4038403F",
    "6314081463", "0304780403", "6159494D43", "007F414141", "0204081020", "004141417F", "0402010204", "4040404040",
    "0003070800", "2054547840", "7F28444438", "3844444428", "384444287F", "3854545418", "00087E0902", "18A4A49C78",
    "7F08040478", "00447D4000", "2040403D00", "7F10284400", "00417F4000", "7C04780478", "7C08040478", "3844444438",
    "FC18242418", "18242418FC", "7C08040408", "4854545424", "04043F4424", "3C4040207C", "1C2040201C", "3C4030403C",
    "4428102844", "4C9090907C", "4464544C44", "0008364100", "0000770000", "0041360800", "0201020402",
};

int canvas_check(const char *path, struct nm_err *err)
{
    if (!path) return 0;
    if (!nm_ends_with(path, ".svg") && !nm_ends_with(path, ".png"))
        return nm_fail(err, "%s: the name of a picture must end in .svg or .png", path);
    return nm_make_folders(path, err);
}

int canvas_begin(struct canvas *canvas, const char *path, uint32_t width, uint32_t height, struct nm_err *err)
{
    *canvas = (struct canvas){.width = width, .height = height, .path = path};
    if (canvas_check(path, err)) return -1;
    if (nm_ends_with(path, ".png")) {
        canvas->rgb = nm_malloc((size_t)width * height * 3);
        memset(canvas->rgb, 0xff, (size_t)width * height * 3);
        return 0;
    }
    if (!(canvas->svg = fopen(path, "w"))) return nm_fail(err, "%s: %s", path, strerror(errno));
    fprintf(canvas->svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    return 0;
}

static void blend(struct canvas *canvas, int64_t x, int64_t y, uint32_t colour, double share)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height || share <= 0) return;
    uint8_t *at = canvas->rgb + 3 * ((size_t)y * canvas->width + (size_t)x);
    if (share > 1) share = 1;
    for (int k = 0; k < 3; k++) {
        double to = (double)(colour >> (16 - 8 * k) & 255);
        at[k] = (uint8_t)lrint(at[k] + share * (to - at[k]));
    }
}

/* A pixel is covered by as much as its middle is nearer to the segment than half of the line's thickness. */
static void paint_line(struct canvas *canvas, double x0, double y0, double x1, double y1, double thick, uint32_t colour)
{
    double dx = x1 - x0, dy = y1 - y0, squared = dx * dx + dy * dy;
    int64_t left = (int64_t)fmax(fmin(x0, x1) - thick - 1, 0), right = (int64_t)(fmax(x0, x1) + thick + 1);
    int64_t top = (int64_t)fmax(fmin(y0, y1) - thick - 1, 0), bottom = (int64_t)(fmax(y0, y1) + thick + 1);
    for (int64_t y = top; y <= bottom && y < canvas->height; y++)
        for (int64_t x = left; x <= right && x < canvas->width; x++) {
            double px = (double)x + 0.5 - x0, py = (double)y + 0.5 - y0;
            double along = squared > 0 ? fmin(fmax((px * dx + py * dy) / squared, 0), 1) : 0;
            blend(canvas, x, y, colour, thick / 2 + 0.5 - hypot(px - along * dx, py - along * dy));
        }
}

void canvas_line(struct canvas *canvas, double x0, double y0, double x1, double y1, double thick, uint32_t colour)
{
    if (!isfinite(x0 + y0 + x1 + y1)) return;
    if (!canvas->svg)
        paint_line(canvas, x0, y0, x1, y1, thick, colour);
    else
        fprintf(canvas->svg,
                "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#%06x\" stroke-width=\"%g\" "
                "stroke-linecap=\"round\"/>\n",
                x0, y0, x1, y1, colour, thick);
}

static void paint_letter(struct canvas *canvas, int64_t x, int64_t y, uint32_t colour, char letter)
{
    const char *dots = letters[letter >= FIRST && letter <= LAST ? letter - FIRST : '?' - FIRST];
    for (int column = 0; column < COLUMNS; column++) {
        char hex[3] = {dots[2 * column], dots[2 * column + 1], '\0'};
        unsigned long bits = strtoul(hex, NULL, 16);
        for (int row = 0; row < ROWS; row++)
            for (int k = 0; k < DOT * DOT && bits >> row & 1; k++)
                blend(canvas, x + column * DOT + k % DOT, y + row * DOT + k / DOT, colour, 1);
    }
}

void canvas_text(struct canvas *canvas, double x, double y, bool right, uint32_t colour, const char *text)
{
    if (!canvas->svg) {
        int64_t left = (int64_t)x - (right ? (int64_t)strlen(text) * CANVAS_LETTER : 0);
        for (; *text; text++, left += CANVAS_LETTER)
            paint_letter(canvas, left, (int64_t)y - (ROWS - 1) * DOT, colour, *text);
        return;
    }
    fprintf(canvas->svg, "<text x=\"%.2f\" y=\"%.2f\" font-family=\"monospace\" font-size=\"%d\" fill=\"#%06x\"%s>", x,
            y, CANVAS_TEXT, colour, right ? " text-anchor=\"end\"" : "");
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fputs(*text == '<' ? "&lt;" : "&amp;", canvas->svg);
        else
            fputc(*text >= FIRST && *text <= LAST ? *text : '?', canvas->svg);
    fputs("</text>\n", canvas->svg);
}

int canvas_end(struct canvas *canvas, struct nm_err *err)
{
    int result = 0;
    if (canvas->svg) {
        fputs("</svg>\n", canvas->svg);
        bool ok = !ferror(canvas->svg);
        if (fclose(canvas->svg) || !ok) result = nm_fail(err, "%s: %s", canvas->path, strerror(errno));
    } else {
        png_image image = {
            .version = PNG_IMAGE_VERSION, .width = canvas->width, .height = canvas->height, .format = PNG_FORMAT_RGB};
        if (!png_image_write_to_file(&image, canvas->path, 0, canvas->rgb, 0, NULL))
            result = nm_fail(err, "%s cannot be written: %s", canvas->path, image.message);
        free(canvas->rgb);
    }
    return result;
}
