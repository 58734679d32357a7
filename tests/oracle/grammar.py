def case(seed): return {"Dockerfile":"FROM scratch\n"}
