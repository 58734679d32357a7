FROM debian:12
RUN sed -i 's/main/main contrib non-free/' /etc/apt/sources.list.d/debian.sources
RUN apt-get update && apt-get install -y libcuda1 python3-pip
RUN pip3 install --break-system-packages torch==2.4.0
