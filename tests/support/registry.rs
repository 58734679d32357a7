//! A real registry on a free port of this machine, ended with the test.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use tempfile::TempDir;

const NEEDS: &str = "the registry tests need the Debian packages docker-registry, skopeo and \
    apache2-utils: apt-get install -y docker-registry skopeo apache2-utils";

/// A running registry.
pub(crate) struct Registry {
    child: Child,
    /// Port on 127.0.0.1.
    pub(crate) port: u16,
    folder: TempDir,
}

impl Registry {
    /// Starts a registry that everyone may read and write.
    pub(crate) fn open() -> Self {
        Self::start(None, None)
    }

    /// Starts a registry that asks for a user name and a password.
    pub(crate) fn locked(user: &str, password: &str) -> Self {
        Self::start(Some((user, password)), None)
    }

    /// Starts a registry that speaks TLS with the certificate and key in a folder.
    pub(crate) fn secret(certificate: &Path) -> Self {
        Self::start(None, Some(certificate))
    }

    fn start(login: Option<(&str, &str)>, tls: Option<&Path>) -> Self {
        // Another process may take the free port first, so there is more than one try.
        for _ in 0..5 {
            if let Some(registry) = Self::try_start(login, tls) {
                return registry;
            }
        }
        panic!("docker-registry did not start; {NEEDS}");
    }

    fn try_start(login: Option<(&str, &str)>, tls: Option<&Path>) -> Option<Self> {
        let folder = tempfile::tempdir().expect("temporary folder");
        let port = free_port();
        let root = folder.path().display();
        let tls = tls.map_or_else(String::new, |folder| {
            let folder = folder.display();
            format!(", tls: {{certificate: {folder}/one.pem, key: {folder}/one.key}}")
        });
        let mut config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: {root}/data}}}}\n\
             http: {{addr: '127.0.0.1:{port}'{tls}}}\n"
        );
        if let Some((user, password)) = login {
            let made = Command::new("htpasswd").args(["-Bbn", user, password]).output().expect(NEEDS);
            fs::write(folder.path().join("htpasswd"), made.stdout).expect("htpasswd");
            let auth = format!("auth: {{htpasswd: {{realm: test, path: {root}/htpasswd}}}}\n");
            config.push_str(&auth);
        }
        let file = folder.path().join("config.yml");
        fs::write(&file, config).expect("config.yml");
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect(NEEDS);
        let mut registry = Self { child, port, folder };
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if registry.child.try_wait().expect("state of the registry").is_some() {
                return None;
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some(registry);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Copies one image of a layout, with all its platforms.
    pub(crate) fn push(&self, layout: &Path, name: &str, to: &str, login: Option<&str>) {
        let mut command = Command::new("skopeo");
        command.args([
            "copy",
            "--quiet",
            "--all",
            "--preserve-digests",
            "--insecure-policy",
            "--dest-tls-verify=false",
        ]);
        if let Some(login) = login {
            command.args(["--dest-creds", login]);
        }
        command.env("HOME", self.folder.path()).env_remove("REGISTRY_AUTH_FILE");
        let from = format!("oci:{}:{name}", layout.display());
        let pushed = command.args([from, format!("docker://{}/{to}", self.host())]).output().expect(NEEDS);
        assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port without a listener.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("free port");
    listener.local_addr().expect("address").port()
}
