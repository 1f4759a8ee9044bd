//! Rewrites schemas into equivalent ones that generators of clients turn into usable types.

use serde_json::{Map, Value, json};

/// Replaces alternatives of single strings by one `enum`: generators of clients make a type of each alternative,
/// although only the descriptions differ. The descriptions become part of that of the whole.
pub(super) fn merge_string_constants(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some((values, descriptions)) = string_constants(object) {
                object.remove("oneOf");
                object.insert("type".to_owned(), "string".into());
                object.insert("enum".to_owned(), values.into());
                let own = object.get("description").and_then(Value::as_str);
                let lines = own.map(str::to_owned).into_iter().chain(descriptions);
                let text = lines.collect::<Vec<_>>().join("\n");
                object.insert("description".to_owned(), text.into());
            }
            object.values_mut().for_each(merge_string_constants);
        }
        Value::Array(elements) => elements.iter_mut().for_each(merge_string_constants),
        _ => {}
    }
}

/// The values and their descriptions, if a schema consists of alternative strings.
fn string_constants(schema: &Map<String, Value>) -> Option<(Vec<Value>, Vec<String>)> {
    let (mut values, mut descriptions) = (Vec::new(), Vec::new());
    for alternative in schema.get("oneOf")?.as_array()? {
        if alternative.get("type")? != "string" {
            return None;
        }
        if let Some(value) = alternative.get("const") {
            if let Some(text) = alternative.get("description").and_then(Value::as_str) {
                descriptions.push(format!("`{}`: {text}", value.as_str()?));
            }
            values.push(value.clone());
        } else {
            values.extend(alternative.get("enum")?.as_array()?.iter().cloned());
        }
    }
    Some((values, descriptions))
}

/// The fields by which serialized enums name their variant.
const TAGS: [&str; 3] = ["type", "kind", "mode"];

/// Makes a component of each alternative of a tagged enum, with the fields that all alternatives share, and names
/// the tag as the discriminator. Without names, generators invent some that collide.
pub(super) fn name_variants(components: &mut Value) {
    let Some(components) = components.as_object_mut() else {
        return;
    };
    let mut named = Map::new();
    for (parent, schema) in components.iter_mut() {
        let Some(tag) = variant_tag(schema) else {
            continue;
        };
        let Some(schema) = schema.as_object_mut() else {
            continue;
        };
        schema.remove("type");
        let shared = (schema.remove("properties"), schema.remove("required"));
        let Some(Value::Array(variants)) = schema.remove("oneOf") else {
            continue;
        };
        let mut mapping = Map::new();
        for mut variant in variants {
            let value = variant["properties"][tag]["const"].clone();
            let value = value.as_str().unwrap_or_default();
            let name = format!("{parent}{}", pascal_case(value));
            add_shared_fields(&mut variant, &shared);
            if variant["properties"]["data"]["properties"].is_object() {
                let data = variant["properties"]["data"].take();
                variant["properties"]["data"] = reference(&format!("{name}Data"));
                named.insert(format!("{name}Data"), data);
            }
            mapping.insert(value.to_owned(), reference(&name)["$ref"].clone());
            named.insert(name, variant);
        }
        let variants = mapping.values().map(|path| json!({"$ref": path}));
        schema.insert("oneOf".to_owned(), variants.collect());
        let discriminator = json!({"propertyName": tag, "mapping": mapping});
        schema.insert("discriminator".to_owned(), discriminator);
    }
    components.extend(named);
}

/// The field that names the variant, if the schema consists of alternative objects.
fn variant_tag(schema: &Value) -> Option<&'static str> {
    let variants = schema.get("oneOf")?.as_array()?;
    let is_tagged = |tag: &&str| {
        let mut variants = variants.iter();
        variants.all(|variant| variant["properties"][*tag]["const"].is_string())
    };
    TAGS.into_iter().find(is_tagged)
}

fn add_shared_fields(variant: &mut Value, shared: &(Option<Value>, Option<Value>)) {
    if let (Some(Value::Object(properties)), Some(own)) =
        (&shared.0, variant["properties"].as_object_mut())
    {
        let mut all = properties.clone();
        all.append(own);
        *own = all;
    }
    if let (Some(Value::Array(required)), Some(own)) =
        (&shared.1, variant["required"].as_array_mut())
    {
        *own = required.iter().chain(own.iter()).cloned().collect();
    }
}

fn reference(component: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{component}")})
}

/// `run_created` as `RunCreated`.
fn pascal_case(value: &str) -> String {
    let words = value.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}
