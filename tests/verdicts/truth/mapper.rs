//! A report as an image description and a fleet of one pool. What is not stated stays unknown.

use toml::value::Datetime;
use toml::{Table, Value};

use crate::truth::data::{Host, Image, Report};

/// Docker 19.03, the first with `--gpus`.
const GPUS_OPTION: (u16, u8, u8) = (2019, 7, 22);
/// Half a year later: from then on, Docker with GPUs is taken to mean the option.
const GPUS_USUAL: (u16, u8, u8) = (2020, 1, 22);

/// Podman 4.1, the first that knows CDI devices.
const PODMAN_CDI: (u16, u8, u8) = (2022, 5, 6);

/// The image description.
pub(crate) fn image(report: &Report) -> String {
    let stated = &report.image;
    let mut out = Table::new();
    put(&mut out, "base", stated.from.as_ref().or(stated.reference.as_ref()));
    put(&mut out, "cuda_runtime", stated.cuda_runtime.as_ref());
    put(&mut out, "platform", stated.platform.as_ref());
    if let Some(date) = &report.date {
        out.insert("as_of".to_owned(), Value::Datetime(*date));
    }
    put_texts(&mut out, "env", &stated.env);
    let mut packages = Table::new();
    put_texts(&mut packages, "pip", &stated.pip);
    put_texts(&mut packages, "conda", &stated.conda);
    put_texts(&mut packages, "apt", &stated.apt);
    put_table(&mut out, "packages", packages);
    put_table(&mut out, "files", files(stated));
    if !stated.sass.is_empty() {
        let mut code = Table::new();
        put(&mut code, "component", stated.code_of.as_ref());
        code.insert("sass".to_owned(), list(&stated.sass));
        if let Some(ptx) = &stated.ptx {
            code.insert("ptx".to_owned(), list(ptx));
        }
        out.insert("gpu_code".to_owned(), Value::Array(vec![Value::Table(code)]));
    }
    toml::to_string(&out).expect("TOML")
}

fn files(image: &Image) -> Table {
    let mut files = Table::new();
    if let Some(version) = &image.compat_libcuda {
        files.insert(format!("/usr/local/cuda/compat/libcuda.so.{version}"), Value::Table(Table::new()));
    }
    if let Some(version) = &image.baked_libcuda {
        let folder = image.library_folder.as_deref().unwrap_or("/usr/lib/x86_64-linux-gnu");
        files.insert(format!("{folder}/libcuda.so.{version}"), Value::Table(Table::new()));
    }
    files
}

/// The fleet.
pub(crate) fn fleet(report: &Report) -> String {
    let stated = &report.host;
    let words = stated.runtime.as_deref().unwrap_or_default();
    let mut pool = Table::new();
    pool.insert("name".to_owned(), Value::from("host"));
    if !stated.gpu.is_empty() {
        pool.insert("gpu".to_owned(), list(&stated.gpu));
    }
    put(&mut pool, "brand", stated.brand.as_ref());
    put(&mut pool, "compute_capability", stated.compute_capability.as_ref());
    put(&mut pool, "driver", stated.driver.as_deref().map(driver).as_ref());
    put(&mut pool, "driver_cuda", stated.driver_cuda.as_ref());
    put(&mut pool, "libnvidia_container", stated.libnvidia_container.as_deref().map(library).as_ref());
    put(&mut pool, "platform", stated.arch.as_deref().map(platform).as_ref());
    put(&mut pool, "launch", launch(stated, report.date.as_ref()).map(str::to_owned).as_ref());
    if words.contains("WSL") {
        pool.insert("wsl".to_owned(), Value::from(true));
    }
    let mut env = stated.env.clone();
    if words.contains("runtime=nvidia") && words.contains("--gpus") {
        // What Docker adds for --gpus.
        env.insert("NVIDIA_VISIBLE_DEVICES".to_owned(), "all".to_owned());
    }
    put_texts(&mut pool, "env", &env);
    let mut out = Table::new();
    out.insert("pool".to_owned(), Value::Array(vec![Value::Table(pool)]));
    toml::to_string(&out).expect("TOML")
}

/// `580+` is everything from 580 on.
fn driver(text: &str) -> String {
    text.strip_suffix('+').map_or_else(|| text.to_owned(), |from| format!(">={from}"))
}

/// The release, without the build behind it.
fn library(text: &str) -> String {
    text.split('+').next().unwrap_or(text).to_owned()
}

fn platform(arch: &str) -> String {
    match arch {
        "x86_64" => "linux/amd64".to_owned(),
        "aarch64" => "linux/arm64".to_owned(),
        other => format!("linux/{other}"),
    }
}

/// The fleet's word for how the container was started, where the report's words say one.
fn launch(host: &Host, date: Option<&Datetime>) -> Option<&'static str> {
    let words = host.runtime.as_deref()?;
    let before = |day: (u16, u8, u8)| {
        date.and_then(|date| date.date).is_some_and(|date| (date.year, date.month, date.day) < day)
    };
    let nvidia = ["runtime=nvidia", "nvidia runtime", "nvidia-container-runtime"];
    if nvidia.iter().any(|one| words.contains(one)) {
        return Some("nvidia-runtime");
    }
    match words.split([' ', '/']).next()? {
        "docker" if words.contains("--gpus") => Some("docker-gpus"),
        // Without the option, or on a Jetson, or with the variable set by hand, it is the runtime's doing.
        "docker" if before(GPUS_OPTION) || jetson(host) || host.env.contains_key("NVIDIA_VISIBLE_DEVICES") => {
            Some("nvidia-runtime")
        }
        // The runtime of before was still what people had: how the GPUs came in is not said.
        "docker" if before(GPUS_USUAL) => None,
        "docker" => Some("docker-gpus"),
        "k8s" => Some("kubernetes"),
        "native" => Some("native"),
        "singularity" => Some("singularity"),
        "enroot" => Some("enroot"),
        "podman" if !before(PODMAN_CDI) => Some("podman-cdi"),
        _ => None,
    }
}

fn jetson(host: &Host) -> bool {
    host.gpu.iter().any(|name| name.contains("Jetson"))
}

fn list(texts: &[String]) -> Value {
    Value::Array(texts.iter().cloned().map(Value::String).collect())
}

fn put(table: &mut Table, key: &str, value: Option<&String>) {
    if let Some(value) = value {
        table.insert(key.to_owned(), Value::String(value.clone()));
    }
}

fn put_table(table: &mut Table, key: &str, inner: Table) {
    if !inner.is_empty() {
        table.insert(key.to_owned(), Value::Table(inner));
    }
}

fn put_texts(table: &mut Table, key: &str, texts: &std::collections::BTreeMap<String, String>) {
    let inner: Table = texts.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    put_table(table, key, inner);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> Report {
        toml::from_str(&format!("id = 'one'\ngroup = 'one'\noutcome = 'ok'\n{text}")).expect("a report")
    }

    #[test]
    fn a_public_report_without_facts_has_an_empty_image_and_pool() {
        let report = report("");
        assert_eq!(image(&report), "");
        assert_eq!(fleet(&report), "[[pool]]\nname = \"host\"\n");
    }

    #[test]
    fn the_words_of_a_report_name_a_launch_or_none() {
        for (date, gpu, words, expected) in [
            ("2024-01-01", "T4", "docker", Some("docker-gpus")),
            ("2024-01-01", "T4", "docker compose", Some("docker-gpus")),
            ("2024-01-01", "T4", "docker --runtime=nvidia --gpus=all", Some("nvidia-runtime")),
            ("2019-03-08", "T4", "docker", Some("nvidia-runtime")),
            ("2019-09-06", "T4", "docker", None),
            ("2019-09-06", "T4", "docker --gpus all", Some("docker-gpus")),
            ("2020-03-01", "T4", "docker", Some("docker-gpus")),
            ("2024-01-01", "Jetson AGX Orin", "docker", Some("nvidia-runtime")),
            ("2024-01-01", "Jetson AGX Orin", "docker --gpus all", Some("docker-gpus")),
            ("2024-01-01", "T4", "native (uv)", Some("native")),
            ("2024-01-01", "T4", "k8s (GPU operator)", Some("kubernetes")),
            ("2024-01-01", "T4", "enroot/pyxis (srun)", Some("enroot")),
            ("2021-04-02", "T4", "podman (rootless)", None),
            ("2024-01-01", "T4", "nerdctl --gpus all", None),
            ("2024-01-01", "T4", "", None),
        ] {
            let report = report(&format!("date = {date}\n[host]\ngpu = ['{gpu}']\nruntime = '{words}'"));
            assert_eq!(launch(&report.host, report.date.as_ref()), expected, "{words}");
        }
    }
}
