#include "modules/position/ukf.h"

#include <string.h>

void ukf_start(struct ukf *u, struct pose2 pose, double sigma_x, double sigma_y, double sigma_theta,
               const struct ukf_noise *noise)
{
    memset(u, 0, sizeof *u);
    u->x[UKF_X] = pose.x, u->x[UKF_Y] = pose.y, u->x[UKF_THETA] = pose.theta;
    u->p[UKF_X][UKF_X] = sigma_x * sigma_x;
    u->p[UKF_Y][UKF_Y] = sigma_y * sigma_y;
    u->p[UKF_THETA][UKF_THETA] = sigma_theta * sigma_theta;
    u->p[UKF_ROLL][UKF_ROLL] = u->p[UKF_PITCH][UKF_PITCH] = noise->tilt_drift * noise->tilt_drift;
}

/* p <- F p F^T, where row and column k of F take in `share` of the direction besides themselves */
static void shear(struct ukf *u, int k, double share)
{
    for (int j = 0; j < UKF_N; j++) u->p[k][j] += share * u->p[UKF_THETA][j];
    for (int i = 0; i < UKF_N; i++) u->p[i][k] += share * u->p[i][UKF_THETA];
}

static void fade(struct ukf *u, int k, double keep, double fresh)
{
    for (int j = 0; j < UKF_N; j++) u->p[k][j] *= keep, u->p[j][k] *= keep;
    u->x[k] *= keep;
    u->p[k][k] += fresh;
}

void ukf_move(struct ukf *u, struct pose2 step, double dt, const struct ukf_noise *n)
{
    double c = cos(u->x[UKF_THETA]), s = sin(u->x[UKF_THETA]);
    double dx = c * step.x - s * step.y, dy = s * step.x + c * step.y;
    double way = vec2_norm(step.x, step.y), turn = fabs(step.theta);
    shear(u, UKF_X, -dy);
    shear(u, UKF_Y, dx);
    u->x[UKF_X] += dx, u->x[UKF_Y] += dy, u->x[UKF_THETA] += step.theta;
    double q = n->way * n->way * way + n->turn_way * n->turn_way * turn + n->time_way * n->time_way * dt;
    u->p[UKF_X][UKF_X] += q;
    u->p[UKF_Y][UKF_Y] += q;
    u->p[UKF_THETA][UKF_THETA] +=
        n->turn * n->turn * turn + n->way_turn * n->way_turn * way + n->time_turn * n->time_turn * dt;
    double keep = exp(-dt / n->tilt_time), fresh = n->tilt_drift * n->tilt_drift * (1 - keep * keep);
    fade(u, UKF_ROLL, keep, fresh);
    fade(u, UKF_PITCH, keep, fresh);
}

/* Lower triangle l with l l^T = a; what is not positive counts as nothing. */
static void cholesky(const double a[UKF_N][UKF_N], double l[UKF_N][UKF_N])
{
    for (int j = 0; j < UKF_N; j++) {
        double d = a[j][j];
        for (int i = 0; i < j; i++) l[i][j] = 0;
        for (int k = 0; k < j; k++) d -= l[j][k] * l[j][k];
        l[j][j] = d > 0 ? sqrt(d) : 0;
        for (int i = j + 1; i < UKF_N; i++) {
            double v = a[i][j];
            for (int k = 0; k < j; k++) v -= l[i][k] * l[j][k];
            l[i][j] = l[j][j] > 0 ? v / l[j][j] : 0;
        }
    }
}

void ukf_image_begin(struct ukf *u, struct ukf_image *image, const struct ukf_noise *n)
{
    image->before = *u;
    image->image2 = n->tilt_image * n->tilt_image;
    u->p[UKF_ROLL][UKF_ROLL] += image->image2;
    u->p[UKF_PITCH][UKF_PITCH] += image->image2;
}

/* The sightings knew only the whole tilt. The lasting part d follows from pose and tilt by linear regression on what
 * was known before: d = E d + k (state - E state), k = cov(d, state) cov(state)^-1. The rest of the state stays. */
void ukf_image_end(struct ukf *u, const struct ukf_image *image)
{
    double whole[UKF_N][UKF_N], l[UKF_N][UKF_N], k[2][UKF_N], moved[UKF_N], kp[2][UKF_N];
    const struct ukf *b = &image->before;
    if (!(image->image2 > 0)) return;
    memcpy(whole, b->p, sizeof whole);
    whole[UKF_ROLL][UKF_ROLL] += image->image2;
    whole[UKF_PITCH][UKF_PITCH] += image->image2;
    cholesky((const double(*)[UKF_N])whole, l);
    for (int d = 0; d < 2; d++) { /* two triangular systems: l l^T k = cov */
        for (int i = 0; i < UKF_N; i++) {
            double v = b->p[UKF_ROLL + d][i];
            for (int j = 0; j < i; j++) v -= l[i][j] * k[d][j];
            k[d][i] = l[i][i] > 0 ? v / l[i][i] : 0;
        }
        for (int i = UKF_N - 1; i >= 0; i--) {
            double v = k[d][i];
            for (int j = i + 1; j < UKF_N; j++) v -= l[j][i] * k[d][j];
            k[d][i] = l[i][i] > 0 ? v / l[i][i] : 0;
        }
    }
    for (int i = 0; i < UKF_N; i++) moved[i] = u->x[i] - b->x[i];
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < UKF_N; i++) {
            kp[d][i] = 0;
            for (int j = 0; j < UKF_N; j++) kp[d][i] += k[d][j] * u->p[j][i];
        }
    double tilt[2][2];
    for (int d = 0; d < 2; d++)
        for (int e = 0; e < 2; e++) {
            double v = b->p[UKF_ROLL + d][UKF_ROLL + e];
            for (int i = 0; i < UKF_N; i++) v += kp[d][i] * k[e][i] - k[d][i] * b->p[UKF_ROLL + e][i];
            tilt[d][e] = v;
        }
    for (int d = 0; d < 2; d++) {
        u->x[UKF_ROLL + d] = b->x[UKF_ROLL + d];
        for (int i = 0; i < UKF_N; i++) u->x[UKF_ROLL + d] += k[d][i] * moved[i];
        for (int i = 0; i < UKF_ROLL; i++) u->p[UKF_ROLL + d][i] = u->p[i][UKF_ROLL + d] = kp[d][i];
        for (int e = 0; e < 2; e++) u->p[UKF_ROLL + d][UKF_ROLL + e] = (tilt[d][e] + tilt[e][d]) / 2;
    }
}

/* The ray r = (x, y, -height) turned back by small angles w is r - w x r; where it meets the ground again. A ray that
 * almost misses the ground is cut off far away. */
struct ukf_point ukf_upright(struct ukf_point p, double roll, double pitch, double h)
{
    double down = fmax(h + roll * p.y - pitch * p.x, 0.2 * h), k = h / down;
    return (struct ukf_point){k * (p.x + pitch * h), k * (p.y - roll * h)};
}

void ukf_own_noise(struct ukf_point p, const struct ukf_noise *n, double r[2][2])
{
    double h = n->height, d2 = p.x * p.x + p.y * p.y, d = sqrt(d2);
    double across2 = (d2 + h * h) * n->pixel * n->pixel, along2 = across2 * (d2 + h * h) / (h * h);
    double c = d > 1e-9 ? p.x / d : 1, s = d > 1e-9 ? p.y / d : 0;
    r[0][0] = c * c * along2 + s * s * across2;
    r[1][1] = s * s * along2 + c * c * across2;
    r[0][1] = r[1][0] = c * s * (along2 - across2);
}

void ukf_see(const struct ukf *u, const struct ukf_point *points, int n, double height, struct ukf_view *v)
{
    const int m = n == 2 ? 4 : 3;
    const double spread = sqrt(UKF_N);
    double l[UKF_N][UKF_N], at[2 * UKF_N][UKF_SEEN];
    cholesky(u->p, l);
    memset(v, 0, sizeof *v);
    for (int k = 0; k < 2 * UKF_N; k++) {
        double x[UKF_N];
        for (int i = 0; i < UKF_N; i++) x[i] = u->x[i] + (k & 1 ? -spread : spread) * l[i][k / 2];
        double c = cos(x[UKF_THETA]), s = sin(x[UKF_THETA]);
        for (int i = 0; i < n; i++) {
            struct ukf_point p = ukf_upright(points[i], x[UKF_ROLL], x[UKF_PITCH], height);
            at[k][2 * i] = x[UKF_X] + c * p.x - s * p.y;
            at[k][2 * i + 1] = x[UKF_Y] + s * p.x + c * p.y;
        }
        if (n == 1) at[k][2] = x[UKF_THETA];
        for (int i = 0; i < m; i++) v->z[i] += at[k][i] / (2 * UKF_N);
    }
    for (int k = 0; k < 2 * UKF_N; k++)
        for (int a = 0; a < m; a++) {
            double off = (at[k][a] - v->z[a]) / (2 * UKF_N);
            for (int b = 0; b <= a; b++) v->s[a][b] += off * (at[k][b] - v->z[b]);
            for (int i = k / 2; i < UKF_N; i++) v->c[i][a] += (k & 1 ? -spread : spread) * l[i][k / 2] * off;
        }
    for (int a = 0; a < m; a++)
        for (int b = 0; b < a; b++) v->s[b][a] = v->s[a][b];
}

bool ukf_fit(const struct ukf_view *v, int n, const int member[], const double r[3][3], struct ukf_fit *f)
{
    double a[3][3];
    f->n = n;
    for (int i = 0; i < n; i++) {
        f->member[i] = member[i];
        for (int k = 0; k < n; k++) a[i][k] = v->s[member[i]][member[k]] + r[i][k];
    }
    if (n == 2) {
        f->volume = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        if (!(f->volume > 0)) return false;
        f->inverse[0][0] = a[1][1] / f->volume, f->inverse[1][1] = a[0][0] / f->volume;
        f->inverse[0][1] = f->inverse[1][0] = -a[0][1] / f->volume;
        return true;
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            f->inverse[k][i] = a[i1][k1] * a[i2][k2] - a[i1][k2] * a[i2][k1];
        }
    f->volume = a[0][0] * f->inverse[0][0] + a[0][1] * f->inverse[1][0] + a[0][2] * f->inverse[2][0];
    if (!(f->volume > 0)) return false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) f->inverse[i][k] /= f->volume;
    return true;
}

double ukf_distance(const struct ukf_fit *f, const double off[])
{
    double d2 = 0;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->n; k++) d2 += off[i] * f->inverse[i][k] * off[k];
    return d2;
}

void ukf_update(struct ukf *u, const struct ukf_view *v, const struct ukf_fit *f, const double off[])
{
    double gain[UKF_N][3];
    for (int i = 0; i < UKF_N; i++)
        for (int a = 0; a < f->n; a++) {
            gain[i][a] = 0;
            for (int b = 0; b < f->n; b++) gain[i][a] += v->c[i][f->member[b]] * f->inverse[b][a];
        }
    for (int i = 0; i < UKF_N; i++) {
        for (int a = 0; a < f->n; a++) u->x[i] += gain[i][a] * off[a];
        for (int j = 0; j <= i; j++) {
            for (int a = 0; a < f->n; a++) u->p[i][j] -= gain[i][a] * v->c[j][f->member[a]];
            u->p[j][i] = u->p[i][j];
        }
    }
}

void ukf_mirror(struct ukf *u)
{
    u->x[UKF_X] = -u->x[UKF_X], u->x[UKF_Y] = -u->x[UKF_Y];
    u->x[UKF_THETA] = angle_normal(u->x[UKF_THETA] + M_PI);
    for (int i = UKF_THETA; i < UKF_N; i++)
        for (int k = UKF_X; k <= UKF_Y; k++) u->p[i][k] = -u->p[i][k], u->p[k][i] = -u->p[k][i];
}
