FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
RUN curl -fsSLo /tmp/m.sh https://example.com/Miniforge3.sh && bash /tmp/m.sh -b -p /opt/conda
ENV PATH=/opt/conda/bin:$PATH
RUN conda install -y pytorch==2.1.2 torchvision==0.16.2 pytorch-cuda=12.1 -c pytorch -c nvidia && conda clean -afy
