# Keys and values of examples/scripts/train_dpo_llama.sh of OpenRLHF/OpenRLHF.
read -r -d '' training_commands <<CMD
openrlhf.cli.train_dpo \
   --train_batch_size 256 \
   --micro_train_batch_size 1 \
   --pretrain OpenRLHF/Llama-3-8b-sft-mixture \
   --param_dtype bf16 \
   --max_len 8192 \
   --beta 0.1 \
   --packing_samples \
   --gradient_checkpointing
CMD

if [[ ${1} != "slurm" ]]; then
    torchrun --standalone --nproc-per-node ${NPROC_PER_NODE:-8} -m $training_commands
fi
