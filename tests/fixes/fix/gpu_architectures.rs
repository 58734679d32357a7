//! Fixes of architecture lists in build commands.

use super::test_repository::TestRepository;
use super::{code, err, out, text};

/// One pool with a GPU of compute capability 9.0, or another.
fn on(gpu: &str, dockerfile: &str) -> TestRepository {
    let repository = TestRepository::empty();
    let pool = format!(
        "[[pool]]\nname = \"a\"\ngpu = \"{gpu}\"\ndriver = \"550.54.15\"\nplatform = \"linux/amd64\"\n\
         launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n"
    );
    repository.file("fleet.toml", &pool);
    repository.file("Dockerfile", dockerfile);
    repository
}

fn of(run: &str) -> String {
    format!("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nCOPY . /src/\n{run}\nCMD [\"/app/x\"]\n")
}

#[test]
fn the_gpus_of_a_pool_are_added_where_a_command_lists_them() {
    for (gpu, before, after) in [
        (
            "H100",
            "RUN nvcc -gencode arch=compute_80,code=sm_80 -o /app/x /src/a.cu",
            "RUN nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -o /app/x /src/a.cu",
        ),
        (
            "H100",
            "RUN nvcc -gencode=arch=compute_80,code=sm_80 \\\n    # the last one\n    -gencode \\\n      arch=compute_86,code=sm_86 \\\n    -o /app/x /src/a.cu && true",
            "RUN nvcc -gencode=arch=compute_80,code=sm_80 \\\n    # the last one\n    -gencode \\\n      arch=compute_86,code=sm_86 -gencode arch=compute_90,code=sm_90 \\\n    -o /app/x /src/a.cu && true",
        ),
        (
            "H100",
            "RUN nvcc -arch=compute_80 -code=sm_80,sm_86 -o /app/x /src/a.cu",
            "RUN nvcc -arch=compute_80 -code=sm_80,sm_86,sm_90 -o /app/x /src/a.cu",
        ),
        (
            "T4",
            "RUN nvcc -arch=sm_80 -o /app/x /src/a.cu",
            "RUN nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_80,code=compute_80 -gencode arch=compute_75,code=sm_75 -o /app/x /src/a.cu",
        ),
        (
            "H100",
            "RUN [\"sh\", \"-c\", \"nvcc -gencode arch=compute_80,code=sm_80 -o /app/x /src/a.cu\"]",
            "RUN [\"sh\", \"-c\", \"nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -o /app/x /src/a.cu\"]",
        ),
        (
            "H100",
            "RUN cmake -B /app -S /src -DCMAKE_CUDA_ARCHITECTURES=80-real && cmake --build /app",
            "RUN cmake -B /app -S /src -DCMAKE_CUDA_ARCHITECTURES=\"80-real;90\" && cmake --build /app",
        ),
        (
            "H100",
            "RUN cmake -B /app -S /src -D CMAKE_CUDA_ARCHITECTURES:STRING='80-real' && cmake --build /app",
            "RUN cmake -B /app -S /src -D CMAKE_CUDA_ARCHITECTURES:STRING='80-real;90' && cmake --build /app",
        ),
        // Each word is a string of its own.
        (
            "H100",
            r#"RUN ["nvcc","-gencode","arch=compute_80,code=sm_80","-o","/app/x","/src/a.cu"]"#,
            r#"RUN ["nvcc","-gencode","arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90","-o","/app/x","/src/a.cu"]"#,
        ),
        (
            "H100",
            r#"RUN [ "nvcc", "-gencode=arch=compute_80,code=sm_80", "-o", "/app/x", "/src/a.cu" ]"#,
            r#"RUN [ "nvcc", "-gencode=arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90", "-o", "/app/x", "/src/a.cu" ]"#,
        ),
        (
            "T4",
            r#"RUN ["nvcc","-arch","sm_80","-o","/app/x","/src/a.cu"]"#,
            r#"RUN ["nvcc","-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_80,code=compute_80", "-gencode", "arch=compute_75,code=sm_75","-o","/app/x","/src/a.cu"]"#,
        ),
        (
            "H100",
            r#"RUN ["nvcc","-arch=compute_80","-code=sm_80","-o","/app/x","/src/a.cu"]"#,
            r#"RUN ["nvcc","-arch=compute_80","-code=sm_80,sm_90","-o","/app/x","/src/a.cu"]"#,
        ),
    ] {
        let repository = on(gpu, &of(before));
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), of(after), "{}{}", err(&done), out(&done));
        assert_eq!(code(&done), 0, "{before}: {}", out(&done));
        let again = repository.run(&["check", "--diff", "--unsafe-fixes", "Dockerfile"]);
        assert_eq!(out(&again), "", "{before}");
    }
}

#[test]
fn arch_list_is_unchanged_if_a_new_target_is_unknown_or_useless() {
    for (gpu, run) in [
        // It has machine code, or PTX for it.
        ("A100", "RUN nvcc -gencode arch=compute_80,code=sm_80 -o /app/x /src/a.cu"),
        ("H100", "RUN nvcc -arch=sm_80 -o /app/x /src/a.cu"),
        // The compiler of CUDA 12.4 does not know it.
        ("B200", "RUN nvcc -gencode arch=compute_80,code=sm_80 -o /app/x /src/a.cu"),
        // Code for an older GPU is not made from what is for a newer one.
        ("T4", "RUN nvcc -arch=compute_80 -code=sm_80 -o /app/x /src/a.cu"),
        // They name no number.
        ("H100", "RUN nvcc -gencode arch=compute_90a,code=sm_90a -o /app/x /src/a.cu"),
        ("H100", "RUN nvcc -arch=native -o /app/x /src/a.cu"),
        // What is made is for one GPU alone.
        ("T4", "RUN nvcc -cubin -arch=sm_80 -o /app/x /src/a.cu"),
        ("H100", "RUN nvcc --cubin -gencode arch=compute_80,code=sm_80 -o /app/x /src/a.cu"),
        ("T4", "RUN nvcc -arch=sm_80 -o /app/x /src/a.cu \\\n    -cubin"),
        ("H100", r#"RUN ["nvcc","-cubin","-arch=sm_80","-o","/app/x","/src/a.cu"]"#),
        ("T4", r#"RUN ["nvcc","-arch=compute_80","-code=sm_80","-o","/app/x","/src/a.cu"]"#),
        ("H100", "RUN echo nvcc -gencode arch=compute_80,code=sm_80"),
        ("H100", "RUN cmake -B /app -S /src -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build /app"),
    ] {
        let repository = on(gpu, &of(run));
        let done = repository.run(&["check", "--fix", "Dockerfile"]);
        assert_eq!(text(&repository, "Dockerfile"), of(run), "{gpu}: {}{}", err(&done), out(&done));
        let told = out(&repository.run(&["check", "--show-fixes", "Dockerfile"]));
        assert!(!told.contains("to -gencode") && !told.contains("to -arch"), "{gpu}: {run}: {told}");
    }
}
