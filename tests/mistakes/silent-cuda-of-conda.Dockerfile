FROM nvidia/cuda:12.8.1-base-ubuntu22.04
COPY --from=condaforge/miniforge3:24.11.3-0 /opt/conda /opt/conda
RUN /opt/conda/bin/conda install -y -c nvidia cuda=12.8.1
