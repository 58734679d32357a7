//! `imagelint cache`: what is kept on the disk, and the end of it.

use std::io::Write as _;

use crate::cli::Failure;
use crate::cli::args::CacheArgs;
use crate::cli::args::CacheDo;
use crate::cli::cache::by_digest::Cache;
use crate::cli::cache::folder::Folder;
use crate::cli::cache::folder::Usage;
use crate::cli::cache::layers::LayerStore;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::words::count;

/// Runs it.
pub(crate) fn run(options: &CacheArgs) -> Result<Exit, Failure> {
    let none =
        || Failure::Said("error: there is no cache directory: set XDG_CACHE_HOME or HOME to an absolute path".into());
    let kept: [(&str, Folder); 2] = [
        ("layers", LayerStore::folder().ok_or_else(none)?),
        ("manifests and configurations", Cache::folder().ok_or_else(none)?),
    ];
    let mut out = streams::out();
    for (what, folder) in kept {
        let (word, Usage { files, bytes }) = match options.action {
            CacheDo::Info => ("", folder.usage()),
            CacheDo::Clear => {
                let gone = folder.clear().map_err(|error| Failure::Said(format!("error: cannot remove {error}")))?;
                ("removed ", gone)
            }
        };
        let files = count(files, "file");
        writeln!(out, "{what}: {word}{files}, {bytes} bytes, in {}", folder.root().display())?;
    }
    Ok(Exit::Clean)
}
