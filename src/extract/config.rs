//! What the configuration of an image says, read from a registry or a layout.

use crate::extract::history;
use crate::extract::started;
use crate::fact::Depth;
use crate::fact::Evidence;
use crate::fact::FactKey;
use crate::fact::Observations;
use crate::fact::Origin;
use crate::fact::State;
use crate::fact::Value;
use crate::knowledge::Knowledge;
use crate::oci::PulledImage;

/// Reads one image's configuration.
pub fn of_config(image: &PulledImage) -> Observations {
    let mut seen = of_head(image, Depth::Config);
    history::installs(image, &mut seen, Knowledge::built_in(), |_| true);
    seen
}

/// What the configuration says of the image itself; not what its history says of the build.
pub(super) fn of_head(image: &PulledImage, depth: Depth) -> Observations {
    let mut seen = Observations::new(depth);
    let origin = |field: String| Evidence::Leaf(vec![Origin::Config { digest: image.config_digest.clone(), field }]);
    for (name, value) in &image.config.env {
        let state = State::Known(Value::Text(value.clone()));
        let fact = seen.facts.add(FactKey::Env, Some(name), state, origin(format!("config.Env[{name}]")));
        seen.env.insert(name.clone(), (Ok(value.clone()), fact));
    }
    seen.complete.env = true;
    // What is put behind the entrypoint is the program itself where that is a wrapper, or where there is none.
    let words: Vec<String> = image.config.entrypoint.iter().chain(&image.config.cmd).cloned().collect();
    let state = State::Known(Value::from(&words));
    let fact = seen.facts.add(FactKey::Entrypoint, None, state, origin("config.Entrypoint".to_owned()));
    seen.of_base.starts = Some((started::commands(&words), fact));
    seen.entrypoint = Some((words, fact));
    let mut platforms: Vec<String> = image.platforms.iter().map(ToString::to_string).collect();
    if platforms.is_empty() {
        platforms.push(image.config.platform.to_string());
    }
    let fact = seen.facts.add(
        FactKey::Platforms,
        None,
        State::Known(Value::from(&platforms)),
        origin("architecture".to_owned()),
    );
    seen.platforms = Some((platforms, fact));
    seen
}
