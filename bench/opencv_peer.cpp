// The same work by OpenCV, beside which `nutmeg bench vision` measures ours: a file with one image in YUV 4:2:2 in, the
// median time of each task in nanoseconds out, one line each. One thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

template <class Work> static void measure(const char *name, int rounds, Work work)
{
    std::vector<double> times;
    for (int i = 0; i < rounds; i++) {
        auto begin = std::chrono::steady_clock::now();
        work();
        times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    std::printf("%s %.0f\n", name, times[rounds / 2]);
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    int w = std::atoi(argv[2]), h = std::atoi(argv[3]), rounds = std::atoi(argv[4]);
    cv::setNumThreads(1);
    cv::Mat yuyv(h, w, CV_8UC2);
    std::FILE *file = std::fopen(argv[1], "rb");
    if (!file || std::fread(yuyv.data, 1, (size_t)w * h * 2, file) != (size_t)w * h * 2) return 1;
    std::fclose(file);
    cv::Mat y, gx, gy, ax, ay, edges, bgr, small, hsv, green, white, dark, little, colours, binary;
    measure("sobel", rounds, [&] {
        cv::extractChannel(yuyv, y, 0);
        cv::Sobel(y, gx, CV_16S, 1, 0);
        cv::Sobel(y, gy, CV_16S, 0, 1);
        cv::convertScaleAbs(gx, ax, 0.25);
        cv::convertScaleAbs(gy, ay, 0.25);
        cv::add(ax, ay, edges);
    });
    measure("classes", rounds, [&] {
        cv::cvtColor(yuyv, bgr, cv::COLOR_YUV2BGR_YUY2);
        cv::resize(bgr, small, cv::Size(w / 2, h / 2), 0, 0, cv::INTER_NEAREST);
        cv::cvtColor(small, hsv, cv::COLOR_BGR2HSV);
        cv::inRange(hsv, cv::Scalar(40, 60, 20), cv::Scalar(90, 255, 255), green);
        cv::inRange(hsv, cv::Scalar(0, 0, 120), cv::Scalar(180, 60, 255), white);
        cv::inRange(hsv, cv::Scalar(0, 0, 0), cv::Scalar(180, 255, 40), dark);
    });
    measure("thumbnail", rounds, [&] {
        cv::extractChannel(yuyv, y, 0);
        cv::resize(y, little, cv::Size((w + 7) / 8, (h + 7) / 8), 0, 0, cv::INTER_AREA);
        cv::Mat pairs(h, w / 2, CV_8UC4, yuyv.data);
        cv::resize(pairs, colours, cv::Size((w + 15) / 16, (h + 7) / 8), 0, 0, cv::INTER_AREA);
    });
    cv::extractChannel(yuyv, y, 0);
    measure("otsu", rounds, [&] { cv::threshold(y, binary, 0, 255, cv::THRESH_BINARY | cv::THRESH_OTSU); });
    return 0;
}
