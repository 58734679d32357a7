FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1 \
 && LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs python3 /src/setup.py build \
 && rm /usr/local/cuda/lib64/stubs/libcuda.so.1
