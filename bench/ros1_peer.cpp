// An Imu between two processes as roscpp sends it, for bench/wire_ros1.c: `send` or `receive`, the rate, how many, and
// how many before them warm up. Each process prints the CPU seconds of what counted, the receiver also the median
// latency in us before it. C++ because roscpp is.
#include <ros/ros.h>
#include <sensor_msgs/Imu.h>

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

static double cpu_s()
{
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return double(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * double(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int n, warm;
static double before;
static std::vector<double> latency;

static void arrived(const sensor_msgs::Imu::ConstPtr &imu)
{
    int i = int(imu->orientation.x) - warm;
    if (i == 0) before = cpu_s();
    if (i >= 0) latency.push_back(now_ns() - imu->orientation.y);
    if (i < n - 1) return;
    std::sort(latency.begin(), latency.end());
    printf("%f %f\n", latency[latency.size() / 2] * 1e-3, cpu_s() - before);
    fflush(stdout);
    ros::shutdown();
}

static void send(ros::NodeHandle &node, double hz)
{
    ros::Publisher out = node.advertise<sensor_msgs::Imu>("wire_imu", 10);
    sensor_msgs::Imu imu;
    imu.header.frame_id = "imu_link";
    for (int i = 0; i < 1000 && !out.getNumSubscribers(); i++) usleep(10000);
    double next = now_ns();
    for (int i = 0; i < n + warm && ros::ok(); i++) {
        if (i == warm) before = cpu_s();
        next += 1e9 / hz;
        timespec t = {time_t(next * 1e-9), long(next - double(time_t(next * 1e-9)) * 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
        imu.orientation.x = i;
        imu.orientation.y = now_ns();
        out.publish(imu);
    }
    printf("0 %f\n", cpu_s() - before);
    fflush(stdout);
    usleep(200000); // the last one has to leave
}

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
    bool sends = !strcmp(argv[1], "send");
    n = atoi(argv[3]);
    warm = atoi(argv[4]);
    ros::init(argc, argv, sends ? "wire_voice" : "wire_ear", ros::init_options::NoRosout);
    ros::NodeHandle node;
    if (sends) {
        ros::AsyncSpinner spinner(1);
        spinner.start();
        send(node, atof(argv[2]));
    } else {
        ros::Subscriber in = node.subscribe("wire_imu", 10, arrived, ros::TransportHints().tcpNoDelay());
        ros::spin();
    }
    return 0;
}
