//! `imagelint cache`: shows the size of the caches, or clears them.

use std::io::Write as _;

use crate::cli::args::{CacheAction, CacheArgs};
use crate::cli::cache::digest_cache::DigestCache;
use crate::cli::cache::directory::{CacheDirectory, CacheUsage};
use crate::cli::cache::layer_store::LayerStore;
use crate::cli::error::CommandError;
use crate::cli::exit::Exit;
use crate::cli::streams;
use crate::report::phrases::pluralize;

/// Runs `imagelint cache`.
pub(crate) fn run(options: &CacheArgs) -> Result<Exit, CommandError> {
    let none = || {
        CommandError::Message(
            "error: there is no cache directory: set XDG_CACHE_HOME or HOME to an absolute path".into(),
        )
    };
    let kept: [(&str, CacheDirectory); 2] = [
        ("layers", LayerStore::directory().ok_or_else(none)?),
        ("manifests and configurations", DigestCache::directory().ok_or_else(none)?),
    ];
    let mut out = streams::stdout();
    for (what, folder) in kept {
        let (word, CacheUsage { files, bytes }) = match options.action {
            CacheAction::Info => ("", folder.usage()),
            CacheAction::Clear => {
                let removed =
                    folder.clear().map_err(|error| CommandError::Message(format!("error: cannot remove {error}")))?;
                ("removed ", removed)
            }
        };
        let files = pluralize(files, "file");
        writeln!(out, "{what}: {word}{files}, {bytes} bytes, in {}", folder.root().display())?;
    }
    Ok(Exit::Clean)
}
