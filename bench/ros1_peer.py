# The same as ros1_peer.cpp as rospy does it.
import resource
import sys
import threading
import time

import rospy
from sensor_msgs.msg import Imu

role, hz, n, warm = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
latency, begun, ended = [], [0.0], threading.Event()


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def arrived(imu):
    i = int(imu.orientation.x) - warm
    if i == 0:
        begun[0] = cpu()
    if i >= 0:
        latency.append(time.monotonic_ns() - imu.orientation.y)
    if i >= n - 1 and not ended.is_set():
        latency.sort()
        print(latency[len(latency) // 2] * 1e-3, cpu() - begun[0], flush=True)
        ended.set()


def send():
    out, imu = rospy.Publisher("wire_imu", Imu, queue_size=10, tcp_nodelay=True), Imu()
    imu.header.frame_id = "imu_link"
    for _ in range(1000):
        if out.get_num_connections():
            break
        time.sleep(0.01)
    due = time.monotonic()
    for i in range(n + warm):
        if i == warm:
            begun[0] = cpu()
        due += 1 / hz
        time.sleep(max(0, due - time.monotonic()))
        imu.orientation.x, imu.orientation.y = float(i), float(time.monotonic_ns())
        out.publish(imu)
    print(0, cpu() - begun[0], flush=True)
    time.sleep(0.2)


rospy.init_node("wire_voice" if role == "send" else "wire_ear", disable_rosout=True, disable_signals=True)
if role == "send":
    send()
else:
    rospy.Subscriber("wire_imu", Imu, arrived, queue_size=10, tcp_nodelay=True)
    ended.wait(120)
