#include "sharding/parameters.h"

#include "base/errors.h"
#include "sharding/tensors.h"
#include "spec/reader.h"
#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;

TEST_CASE("parameters: absurd sizes overflow into an error") {
  ModelSpec model = jobs::llama3_8b();
  model.hidden = std::int64_t{1} << 50;
  CHECK_THROWS_AS(count_parameters(model), ConfigError);
}

// Element counts of the published checkpoints.
TEST_CASE("parameters: published models are counted exactly") {
  CHECK(count_parameters(jobs::llama3_8b()).total == 8'030'261'248);
  CHECK(count_parameters(jobs::llama3_70b()).total == 70'553'706'496);
  CHECK(count_parameters(jobs::llama3_405b()).total == 405'853'388'800);
  CHECK(count_parameters(jobs::llama2_7b()).total == 6'738'415'616);
  CHECK(count_parameters(jobs::llama2_13b()).total == 13'015'864'320);
}

// GPT block with biases: 12 h^2 + 13 h a layer; final norm 2 h; table V h, positions 2048 h.
TEST_CASE("parameters: a GPT has 12 h^2 + 13 h a layer, tied tables once") {
  const std::int64_t h = 12288;
  CHECK(count_parameters(jobs::gpt(96, h, 96)).total ==
        96 * (12 * h * h + 13 * h) + 2 * h + (51200 + 2048) * h);
}

// DeepSeek-V3 (arXiv 2412.19437 section 4.2): 671 B in all, 37 B active; attention of a layer
// 187,107,328.
TEST_CASE("parameters: latent attention and experts, active ones apart") {
  ModelSpec model = jobs::llama(61, 7168, 18432, 128, 128, 129280);
  model.head_dim = 128;
  model.mla = MlaSpec{1536, 512, 128, 64, 128};
  model.moe = MoeSpec{};
  model.moe->experts = 256;
  model.moe->top_k = 8;
  model.moe->expert_ffn = 2048;
  model.moe->shared_ffn = 2048;
  model.moe->first_dense = 3;
  const ParameterCount counted = count_parameters(model);
  CHECK(static_cast<double>(counted.total) / 1e9 == Approx(671.026).epsilon(1e-6));
  CHECK(static_cast<double>(counted.active) / 1e9 == Approx(37.552).epsilon(1e-4));
  model.layers = 1;
  const std::int64_t with = count_parameters(model).total;
  const std::int64_t rest =
      2 * std::int64_t{129280} * 7168 + 3 * 7168 + 3 * std::int64_t{7168} * 18432;
  CHECK(with - rest == 187'107'328);
}

TEST_CASE("parameters: the closed formula equals the sum over the tensors") {
  for (ModelSpec model : {jobs::llama3_8b(), jobs::gpt(4, 1024, 16), jobs::llama2_13b()}) {
    for (const bool qk_norm : {false, true}) {
      model.qk_norm = qk_norm;
      RunSpec run = jobs::job(model, {});
      run.training.pad_vocab = false;
      const auto sum = [&](const std::vector<OperatorKind>& kinds) {
        std::int64_t total = 0;
        for (const OperatorKind kind : kinds) {
          for (const Tensor& weight : operator_weights(run, kind)) {
            total += elements(weight.dims);
          }
        }
        return total;
      };
      const std::int64_t table = model.vocab * model.hidden;
      CHECK(count_parameters(model).total ==
            model.layers * sum(layer_operators(model)) + sum(embedding_operators(model)) +
                sum(head_operators()) - (model.tied_embeddings ? table : 0));
    }
  }
}

// 6 x matmul parameters + 6 L heads head_dim s. llama3-8b: 6 * 7,504,658,432 + 6 * 32 * 4096 * 8192
// = 51.47e9.
TEST_CASE("flops: model FLOPs of a token by convention") {
  const FlopsConvention& causal = default_flops_convention();
  CHECK(causal.name == "nvidia-causal");
  CHECK(causal.flops_per_token(jobs::llama3_8b(), 8192) / 1e9 == Approx(51.47).epsilon(1e-4));
  CHECK(causal.flops_per_token(jobs::llama3_70b(), 8192) / 1e9 == Approx(449.2).epsilon(2e-4));
  CHECK(causal.flops_per_token(jobs::llama3_405b(), 8192) / 1e9 == Approx(2524.0).epsilon(1e-4));
}

// Megatron's llama table prints 800 TFLOP/s for 13812 tokens/s/GPU with full attention; halved it
// is 711; 14451 tokens/s are 744 (to 0.2 %).
TEST_CASE("flops: one throughput, two rates") {
  const ModelSpec model = jobs::llama3_8b();
  const auto rate = [&](std::size_t convention, double tokens) {
    return tokens * flops_conventions().at(convention).flops_per_token(model, 8192) / 1e12;
  };
  CHECK(flops_conventions().at(1).name == "nvidia-full");
  CHECK(rate(1, 13812) == Approx(800).epsilon(2e-3));
  CHECK(rate(0, 13812) == Approx(711).epsilon(2e-3));
  CHECK(rate(0, 14451) == Approx(744).epsilon(2e-3));
}

// Narayanan et al. (arXiv 2104.04473 equation 3) on GPT-3: 96 B s l h^2 (1 + s/6h + V/16lh).
TEST_CASE("flops: the 2021 convention counts the recomputed forward") {
  const double h = 12288;
  const auto& convention = flops_conventions().at(4);
  CHECK(convention.name == "megatron-sc21");
  CHECK(convention.flops_per_token(jobs::gpt(96, 12288, 96), 2048) ==
        Approx(96 * 96 * h * h * (1 + 2048 / (6 * h) + 51200 / (16 * 96 * h))));
}

// The shipped files: published checkpoints exactly; GPT by 12 h^2 + 13 h a layer (above).
TEST_CASE("parameters: model files") {
  const auto total = [](const char* name) { return count_parameters(read_model(name)).total; };
  CHECK(total("llama2-7b") == 6'738'415'616);
  CHECK(total("llama2-13b") == 13'015'864'320);
  CHECK(total("llama2-70b") == 68'976'648'192);
  CHECK(total("llama3-8b") == 8'030'261'248);
  CHECK(total("llama3-70b") == 70'553'706'496);
  CHECK(total("llama3-405b") == 405'853'388'800);
  const auto gpt = [](std::int64_t layers, std::int64_t h) {
    return layers * (12 * h * h + 13 * h) + 2 * h + (51200 + 2048) * h;
  };
  CHECK(total("gpt3-175b") == gpt(96, 12288));
  CHECK(total("gpt-22b") == gpt(48, 6144));
  CHECK(total("gpt-530b") == gpt(105, 20480));
  CHECK(total("gpt-1t") == gpt(128, 25600));
}
