FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
COPY --from=continuumio/miniconda3:24.1.2-0 /opt/conda /opt/conda
RUN /opt/conda/bin/conda install -y pytorch==2.1.2 cpuonly -c pytorch
