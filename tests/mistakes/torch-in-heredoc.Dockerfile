FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04
RUN <<EOF
set -eux
apt-get update
apt-get install -y python3-pip
pip install torch==2.1.0+cu118 -f https://download.pytorch.org/whl/torch_stable.html
EOF
