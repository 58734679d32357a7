FROM ubuntu:22.04 AS driver
RUN apt-get update && apt-get install -y nvidia-driver-535
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=driver /usr/share/doc /usr/share/doc/driver
