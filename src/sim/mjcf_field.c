#include "sim/mjcf_field.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

/* The contact of a foot with turf: the longer the blades, the longer the time constant and the deeper a foot sinks
 * before the ground is stiff. Measured on artificial grass this is a few millimetres under a standing kid-size robot.
 */
struct turf {
    double time, stiff_least, stiff_most, width;
};

static struct turf turf_of(double blades, double step)
{
    double soft = fmin(fmax(blades / 0.03, 0), 1);
    return (struct turf){fmax(0.012 + 0.016 * soft, 2.5 * step), 0.95 - 0.35 * soft, 0.97 - 0.05 * soft,
                         0.001 + 0.006 * soft};
}

void mjcf_head(FILE *out, uint32_t robots, const struct nm_mjcf_options *options)
{
    fprintf(out, "<mujoco model=\"nutmeg\">\n<compiler angle=\"radian\" balanceinertia=\"true\" boundmass=\"1e-5\" "
                 "boundinertia=\"1e-8\"/>\n");
    /* Newton on sparse matrices: "auto" would take dense ones for two robots, at four times the cost */
    fprintf(out,
            "<option timestep=\"%.9g\" integrator=\"Euler\" solver=\"Newton\" cone=\"pyramidal\" "
            "jacobian=\"sparse\" iterations=\"20\" gravity=\"0 0 -9.81\"/>\n",
            options->step);
    fprintf(out, "<size njmax=\"%u\" nconmax=\"%u\"/>\n", 210 * robots + 200, 40 * robots + 40);
    fprintf(out, "<visual><global offwidth=\"1280\" offheight=\"960\"/><quality shadowsize=\"0\" offsamples=\"0\" "
                 "numslices=\"8\" numstacks=\"8\"/><map znear=\"0.02\" zfar=\"40\"/></visual>\n<statistic "
                 "extent=\"1\"/>\n");
    fprintf(out, "<default><geom friction=\"0.8 0.005 0.0001\" condim=\"3\" solref=\"0.012 1\"/></default>\n");
}

static void still(FILE *out, const char *type, double x, double y, double z, double a, double b, double c,
                  const char *more)
{
    fprintf(out,
            "<geom type=\"%s\" pos=\"%.9g %.9g %.9g\" size=\"%.9g %.9g %.9g\" contype=\"%u\" conaffinity=\"0\" %s/>\n",
            type, x, y, z, a, b, c, MJCF_STILL, more);
}

/* Nets swallow a ball: stiff against it would throw it back. They reach outwards by NET, so that no shot passes them
 * between two steps. */
static const double NET = 0.1;

static void write_goal(FILE *out, const struct nm_pitch *p, int side)
{
    static const char net[] = "priority=\"3\" solref=\"0.02 1.5\" rgba=\"0.8 0.8 0.8 0.3\"",
                      white[] = "rgba=\"0.95 0.95 0.95 1\"",
                      lying[] = "rgba=\"0.95 0.95 0.95 1\" euler=\"1.57079632679 0 0\"";
    double x = side * p->length / 2, back = x + side * p->goal_depth, half = p->post / 2, high = p->goal_height;
    /* a body of its own, so that robots far from it are not tried against each of its shapes */
    fprintf(out, "<body name=\"goal%d\">\n", side > 0);
    for (int i = 0; i < 2; i++) {
        double y = p->posts[i].y;
        if (p->round_posts)
            still(out, "cylinder", x, y, high / 2, half, high / 2, 0, white);
        else
            still(out, "box", x, y, high / 2, half, half, high / 2, white);
        still(out, "box", (x + back) / 2, y + copysign(NET, y), high / 2, p->goal_depth / 2, NET, high / 2, net);
    }
    if (p->round_posts)
        still(out, "cylinder", x, 0, high + half, half, p->goal_width / 2 + p->post, 0, lying);
    else
        still(out, "box", x, 0, high + half, half, half, p->goal_width / 2 + p->post, lying);
    still(out, "box", back + side * NET, 0, high / 2, NET, p->goal_width / 2 + p->post, high / 2, net);
    fprintf(out, "</body>\n");
}

/* Lines and rings as thin boxes, for MuJoCo's renderer alone. */
static void write_lines(FILE *out, const struct nm_pitch *p)
{
    static const char paint[] = "contype=\"0\" conaffinity=\"0\" group=\"1\" rgba=\"1 1 1 1\"";
    double half = p->line_width / 2;
    for (uint32_t i = 0; i < p->n_lines; i++) {
        const struct nm_line *l = &p->lines[i];
        fprintf(out, "<geom type=\"box\" pos=\"%.9g %.9g 0\" size=\"%.9g %.9g 0.0005\" %s/>\n", (l->x0 + l->x1) / 2,
                (l->y0 + l->y1) / 2, fabs(l->x1 - l->x0) / 2 + half, fabs(l->y1 - l->y0) / 2 + half, paint);
    }
    for (int i = 0; i < 48; i++) {
        double a = 2 * M_PI * (i + 0.5) / 48, r = p->circle_radius;
        fprintf(out, "<geom type=\"box\" pos=\"%.9g %.9g 0\" euler=\"0 0 %.9g\" size=\"%.9g %.9g 0.0005\" %s/>\n",
                r * cos(a), r * sin(a), a, half, r * M_PI / 48, paint);
    }
}

/* It slides with friction, but what brakes its rolling is in world.c: MuJoCo's rolling friction is a pyramid, which
 * bends the way of a ball by up to 0.13 rad, whatever direction between two axes it rolls in. */
static void write_ball(FILE *out, const struct nm_pitch *p)
{
    fprintf(out,
            "<body name=\"ball\" pos=\"0 0 %.9g\"><freejoint name=\"ball\"/><geom name=\"ball\" type=\"sphere\" "
            "size=\"%.9g\" mass=\"%.9g\" contype=\"%u\" conaffinity=\"%u\" condim=\"3\" priority=\"2\" friction=\"0.6 "
            "0.005 0.0001\" solref=\"-20000 -40\"/></body>\n",
            p->ball_radius, p->ball_radius, p->ball_mass, MJCF_BALL, MJCF_STILL | MJCF_ROBOTS);
}

/* How ground of such blades and friction answers a foot. */
static void write_softness(FILE *out, double blades, double friction, double step, int priority)
{
    struct turf t = turf_of(blades, step);
    fprintf(out,
            "contype=\"%u\" conaffinity=\"0\" priority=\"%d\" condim=\"3\" friction=\"%.9g 0.01 0.0001\" "
            "solref=\"%.9g 1\" solimp=\"%.9g %.9g %.9g 0.5 2\" rgba=\"0.15 0.43 0.17 1\"/>\n",
            MJCF_STILL, priority, friction, t.time, t.stiff_least, t.stiff_most, t.width);
}

static bool is_ramp(const struct nm_patch *g) { return g->rise_x != 0 || g->rise_y != 0; }

/* Where ground changes it is laid of tiles, cut at the edges of all patches; the outer ones reach beyond any walk. */
static void write_tiles(FILE *out, const struct nm_pitch *p, const struct nm_mjcf_options *options)
{
    enum { CUTS = 2 * NM_PITCH_PATCHES + 2 };
    static const double FAR = 300, DEEP = 0.5; /* m, half of a tile's depth */
    double x[CUTS] = {-FAR, FAR}, y[CUTS] = {-FAR, FAR};
    size_t n = 2;
    for (uint32_t i = 0; i < p->n_patches; i++) {
        const struct nm_patch *g = &p->patches[i];
        if (is_ramp(g)) continue;
        x[n] = g->x0, y[n++] = g->y0;
        x[n] = g->x1, y[n++] = g->y1;
    }
    qsort(x, n, sizeof *x, nm_by_size);
    qsort(y, n, sizeof *y, nm_by_size);
    for (size_t a = 0; a + 1 < n; a++)
        for (size_t b = 0; b + 1 < n; b++) {
            double wide = (x[a + 1] - x[a]) / 2, deep = (y[b + 1] - y[b]) / 2, turf = options->turf, grip = 1;
            double mx = x[a] + wide, my = y[b] + deep;
            if (!(wide > 0 && deep > 0)) continue;
            for (uint32_t i = 0; i < p->n_patches; i++) {
                const struct nm_patch *g = &p->patches[i];
                if (!is_ramp(g) && mx > g->x0 && mx < g->x1 && my > g->y0 && my < g->y1)
                    turf = g->turf, grip = g->friction;
            }
            fprintf(out, "<geom %stype=\"box\" pos=\"%.9g %.9g %.9g\" size=\"%.9g %.9g %.9g\" ",
                    a + b == 0 ? "name=\"ground\" " : "", mx, my, -DEEP, wide, deep, DEEP);
            write_softness(out, turf, grip * options->friction, options->step, 1);
        }
}

/* A slab whose upper side rises from the ground along x or y. */
static void write_ramp(FILE *out, const struct nm_patch *g, const struct nm_mjcf_options *options)
{
    static const double HALF = 0.3; /* m, of its thickness */
    double dx = g->x1 - g->x0, dy = g->y1 - g->y0, rise = g->rise_x != 0 ? g->rise_x : g->rise_y;
    double angle = atan2(rise, g->rise_x != 0 ? dx : dy), c = cos(angle), s = sin(angle);
    double along_x = g->rise_x != 0 ? dx / c : dx, along_y = g->rise_x != 0 ? dy : dy / c;
    double x = (g->x0 + g->x1) / 2 + (g->rise_x != 0 ? s * HALF : 0),
           y = (g->y0 + g->y1) / 2 + (g->rise_x != 0 ? 0 : s * HALF);
    fprintf(out, "<geom type=\"box\" pos=\"%.9g %.9g %.9g\" euler=\"%.9g %.9g 0\" size=\"%.9g %.9g %.9g\" ", x, y,
            fabs(rise) / 2 - c * HALF, g->rise_x != 0 ? 0 : angle, g->rise_x != 0 ? -angle : 0, along_x / 2,
            along_y / 2, HALF);
    write_softness(out, g->turf, g->friction * options->friction, options->step, 2);
}

static void write_ground(FILE *out, const struct nm_pitch *p, const struct nm_mjcf_options *options)
{
    uint32_t ramps = 0;
    for (uint32_t i = 0; i < p->n_patches; i++) ramps += is_ramp(&p->patches[i]);
    if (ramps == p->n_patches) {
        fprintf(out, "<geom name=\"ground\" type=\"plane\" size=\"%.9g %.9g 0.1\" ", nm_pitch_half_x(p) + 3,
                nm_pitch_half_y(p) + 3);
        write_softness(out, options->turf, options->friction, options->step, 1);
    } else {
        write_tiles(out, p, options);
    }
    for (uint32_t i = 0; i < p->n_patches; i++)
        if (is_ramp(&p->patches[i])) write_ramp(out, &p->patches[i], options);
}

void mjcf_field(FILE *out, const struct nm_pitch *p, const struct nm_mjcf_options *options)
{
    write_ground(out, p, options);
    if (!options->bare) {
        write_goal(out, p, -1);
        write_goal(out, p, 1);
        write_ball(out, p);
    }
    if (options->pendulum)
        fprintf(out,
                "<body name=\"pendulum\" pos=\"0 0 -30\"><joint type=\"hinge\" axis=\"1 0 0\"/><joint type=\"hinge\" "
                "axis=\"0 1 0\"/><geom type=\"sphere\" size=\"%.9g\" pos=\"0 0 -%.9g\" mass=\"1\" contype=\"%u\" "
                "conaffinity=\"0\"/></body>\n",
                NM_PENDULUM_RADIUS, NM_PENDULUM_ROPE, MJCF_PENDULUM);
    if (options->visuals) {
        fprintf(out, "<light pos=\"0 0 5\" dir=\"0 0 -1\" directional=\"true\" castshadow=\"false\"/>\n");
        write_lines(out, p);
    }
}
