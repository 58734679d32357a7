FROM tensorflow/tensorflow:latest-gpu
RUN pip install pandas
